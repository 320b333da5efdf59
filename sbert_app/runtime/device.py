"""Share the device: one batch or query at a time, short requests before the batches of long jobs. Embed on it, using the cache."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.corpus.ranking.lexical import ticking
from sbert_app.runtime.quota_usage import Usage
from sbert_app.runtime.visitors import ASKING, Turns
from sbert_app.step import Step, each_within
from sbert_app.vectors import Batches, Rows, Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import Pair
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer
    from sbert_app.models.registry import Registry
    from sbert_app.runs.run import Run
    from sbert_app.timing.experiment import RaceRequest
    from sbert_app.timing.race import RaceState

log = logging.getLogger(__name__)

SHORT_IN_A_ROW = 8  # short requests served before a waiting batch gets its turn, so that no job starves
NEXT_SECONDS = 0.02  # a batch waits so long after a short request: the next step of the same search would wait for the batch
SHORT_CHARACTERS = 10_000  # of all sentences to embed: tenths of a second, which need not wait for the batches of long jobs
JOIN_SECONDS = 10.0  # after which what a job has cached batch by batch is joined

Item = TypeVar("Item")


class Device:
    """A lock, held for one batch or one query. Visitors take turns, short requests go before batches. usage: counts the seconds."""

    def __init__(self, usage: Usage | None = None) -> None:
        self._usage = usage or Usage()
        self._lock = threading.Lock()
        self._held = False
        self._short: Turns[threading.Event] = Turns()
        self._batches: Turns[threading.Event] = Turns()
        self._in_a_row = 0  # short requests since the last batch
        self._short_ended = 0.0
        self._seconds = self._since = 0.0  # held in all; when it was last taken
        self.tell: Callable[[str], object] = log.debug  # shows a sentence to the visitor whose job this thread does

    @property
    def seconds(self) -> float:
        """How long it was in use, since the start."""
        with self._lock:
            return self._seconds + (time.perf_counter() - self._since if self._held else 0.0)

    @contextmanager
    def hold(self, short: bool = False) -> Iterator[float]:
        """Hold the device; yields the seconds waited. short: a request of milliseconds. Raises SpentError without seconds left."""
        start = time.perf_counter()
        self._acquire(short)
        while not short and self._in_a_row < SHORT_IN_A_ROW and time.perf_counter() < self._short_ended + NEXT_SECONDS:
            self._release()
            time.sleep(NEXT_SECONDS)
            self._acquire(short)
        self._in_a_row = self._in_a_row + 1 if short else 0
        try:
            with self._usage.measured():
                yield time.perf_counter() - start
        finally:
            if short:
                self._short_ended = time.perf_counter()
            self._release()

    def each(self, steps: Iterator[Item], short: bool = False) -> Iterator[Item]:
        """Yield the steps of a long job, holding the device only while a step is computed. short: each is a short request."""
        return each_within(partial(self.hold, short), steps)

    def encode(self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "") -> Vectors:
        """Embed a few sentences as a short request. n strings -> (n, dim) float32."""
        with self.hold(short=True):
            return encoder.encode(sentences, prompt)

    def stream(self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "", short: bool = False) -> Batches:
        """Embed many sentences; yield (row numbers, vectors) batch by batch. short: each batch is a short request."""
        return self.each(encoder.stream(sentences, prompt), short)

    def scores(self, cross: "PairScorer", pairs: "Sequence[Pair]", tick: Callable[[], None] = lambda: None) -> Vectors:
        """Score pairs. n pairs -> (n,) float32. tick: after each batch, may raise."""
        return in_order(ticking(self.pairs(cross, pairs), tick), len(pairs), 1)[:, 0]

    def pairs(self, cross: "PairScorer", pairs: "Sequence[Pair]") -> Batches:
        """Score pairs; yield (row numbers, scores (b, k)) batch by batch."""
        return self.each(cross.stream(pairs))

    def race(self, registry: "Registry", asked: "RaceRequest", stopping: Callable[[], bool]) -> "Iterator[Step[RaceState]]":
        """Race two models of the registry, with a step after each batch."""
        from sbert_app.timing.experiment import run_race  # imports torch

        return run_race(registry, asked, self.hold, stopping)

    def train(self, run: "Run", stopping: Callable[[], bool]) -> bool:
        """Train a run elsewhere, as far as that goes. Whether it is done; the rest is for this process."""
        return False

    def _acquire(self, short: bool) -> None:
        queue = self._short if short else self._batches
        with self._lock:
            if not self._held:
                self._held, self._since = True, time.perf_counter()
                return
            turn = threading.Event()
            queue.add(turn, ASKING.get().key)
        try:
            turn.wait()  # the releasing thread hands the device over, still held
        except BaseException:  # Ctrl-C in the shell: a thread that left the queue must not be handed the device
            with self._lock:
                if waiting := turn in queue:
                    queue.discard(turn)
            if not waiting:
                self._release()
            raise

    def _release(self) -> None:
        """Hand the device to the next in line, still held, or let go of it."""
        with self._lock:
            starving = bool(self._batches) and self._in_a_row >= SHORT_IN_A_ROW
            if waiting := self._batches if starving else self._short or self._batches:
                turn = waiting.order()[0]
                waiting.serve(turn)
                turn.set()
            else:
                self._held = False
                self._seconds += time.perf_counter() - self._since


class Embedder:
    """Creates embedding jobs. Hosted, the cache keeps nothing: its speed would reveal to others which sentences it holds."""

    def __init__(self, device: Device, cache: EmbeddingCache) -> None:
        self._device, self._cache = device, cache
        self.asked = cache.asked  # sentences that were looked up, by whether they were known

    def job(self, encoder: "Encoder", sentences: Sequence[str]) -> "EmbeddingJob":
        return EmbeddingJob(self._device, self._cache, encoder, sentences)

    def embed(self, encoder: "Encoder", sentences: Sequence[str]) -> Vectors:
        """The embeddings of all sentences, (n, dim)."""
        job = self.job(encoder, sentences)
        deque(job.run(), maxlen=0)  # run to the end
        return job.embeddings


class EmbeddingJob:
    """`run` yields the number of sentences done after each batch; then `embeddings` (n, dim) is complete. done: which are, (n,).

    Each batch is cached before it counts as done: a process that is killed loses none.
    """

    def __init__(self, device: Device, cache: EmbeddingCache, encoder: "Encoder", sentences: Sequence[str]) -> None:
        self._device, self._cache, self._encoder, self._sentences = device, cache, encoder, sentences
        self.embeddings, self.done = cache.lookup(encoder.fingerprint, sentences, encoder.dim)
        self._missing = np.flatnonzero(~self.done)
        self.cached = len(sentences) - len(self._missing)

    def run(self, behind: bool = False) -> Generator[int, None, None]:
        """behind: however few sentences, they let short requests go first."""
        done = self.cached
        missing = [self._sentences[i] for i in self._missing.tolist()]
        short = not behind and sum(map(len, missing)) <= SHORT_CHARACTERS
        batches = self._device.stream(self._encoder, missing, self._encoder.document_prompt, short)
        parts, joined = list[tuple[Rows, Path | None]](), time.monotonic()
        yield done
        try:
            while done < len(self._sentences):  # to ask for one batch too many would mean to wait for the device once more
                batch, vectors = next(batches)
                rows = self._missing[batch]
                self.embeddings[rows] = vectors
                self.done[rows] = True
                parts.append((rows, self._save(rows)))
                done += len(rows)
                yield done
                if time.monotonic() - joined > JOIN_SECONDS:
                    self._join(parts)
                    joined = time.monotonic()
        finally:
            self._join(parts)

    def _save(self, rows: Rows, instead_of: Sequence[Path] = ()) -> Path | None:
        sentences = [self._sentences[i] for i in rows.tolist()]
        return self._cache.add(self._encoder.fingerprint, sentences, self.embeddings[rows], instead_of)

    def _join(self, parts: list[tuple[Rows, Path | None]]) -> None:
        if len(parts) > 1:
            self._save(np.concatenate([rows for rows, _ in parts]), [segment for _, segment in parts if segment])
        parts.clear()
