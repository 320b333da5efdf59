"""Embed on the device: a corpus batch by batch, using the cache; the sentences of several clients in one call."""

import threading
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.runtime.device_queue import Device
from sbert_app.vectors import Rows, Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

CACHE_EVERY = 20_000  # sentences between writes to the cache: work lost if the process dies
MOST_TOGETHER = 512  # sentences of one call: more are hardly faster, and the first clients would wait for the last


class Embedder:
    """Creates embedding jobs. Hosted, the cache keeps nothing: its speed would reveal to others which sentences it holds."""

    def __init__(self, device: Device, cache: EmbeddingCache) -> None:
        self._device, self._cache = device, cache

    def job(self, encoder: "Encoder", sentences: Sequence[str]) -> "EmbeddingJob":
        return EmbeddingJob(self._device, self._cache, encoder, sentences)

    def embed(self, encoder: "Encoder", sentences: Sequence[str]) -> Vectors:
        """The embeddings of all sentences, (n, dim)."""
        job = self.job(encoder, sentences)
        deque(job.run(), maxlen=0)  # run to the end
        return job.embeddings


class EmbeddingJob:
    """`run` yields the number of sentences done after each batch; then `embeddings` (n, dim) is complete. done: which are, (n,).

    What is computed before a stop is cached too.
    """

    def __init__(self, device: Device, cache: EmbeddingCache, encoder: "Encoder", sentences: Sequence[str]) -> None:
        self._device, self._cache, self._encoder, self._sentences = device, cache, encoder, sentences
        self.embeddings, self.done = cache.lookup(encoder.fingerprint, sentences, encoder.dim)
        self._missing = np.flatnonzero(~self.done)
        self.cached = len(sentences) - len(self._missing)

    def run(self) -> Generator[int, None, None]:
        done = self.cached
        prompt = self._encoder.document_prompt
        batches = self._device.stream(self._encoder, [self._sentences[i] for i in self._missing.tolist()], prompt)
        unsaved: list[Rows] = []
        yield done
        try:
            for rows, vectors in batches:
                self.embeddings[self._missing[rows]] = vectors
                self.done[self._missing[rows]] = True
                unsaved.append(self._missing[rows])
                done += len(rows)
                yield done
                if sum(map(len, unsaved)) >= CACHE_EVERY:
                    self._write_cache(unsaved)
        finally:
            self._write_cache(unsaved)

    def _write_cache(self, unsaved: list[Rows]) -> None:
        if unsaved:
            rows = np.concatenate(unsaved)
            self._cache.add(self._encoder.fingerprint, [self._sentences[i] for i in rows.tolist()], self.embeddings[rows])
        unsaved.clear()


@dataclass(frozen=True, eq=False)
class WaitingSentences:
    """Sentences of one client of a DynamicBatcher, and their embeddings to come, (n, dim) float32."""

    encoder: "Encoder"
    sentences: Sequence[str]
    embeddings: "Future[Vectors]" = field(default_factory=Future)


class DynamicBatcher:
    """Encodes what waits, oldest first, on a thread of its own. Nobody waits for others to come: an idle device starts at once."""

    def __init__(self, device: Device, short: bool) -> None:
        """short: the requests are short ones, whose batches go before those of long jobs."""
        self._device, self._short = device, short
        self._waiting: deque[WaitingSentences] = deque()
        self._lock = threading.Lock()
        self._working = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="batcher")

    def submit(self, encoder: "Encoder", sentences: Sequence[str]) -> "Future[Vectors]":
        """Embed sentences, together with those of others. n strings -> (n, dim) float32, later. A cancelled future is skipped."""
        request = WaitingSentences(encoder, sentences)
        with self._lock:
            self._waiting.append(request)
            if not self._working:
                self._working = True
                self._thread.submit(self._work)
        return request.embeddings

    def _work(self) -> None:
        while requests := self._take():
            self._serve([request for request in requests if request.embeddings.set_running_or_notify_cancel()])

    def _serve(self, requests: list[WaitingSentences]) -> None:
        try:
            self._encode(requests)
        except Exception as error:
            if len(requests) == 1:
                requests[0].embeddings.set_exception(error)
            else:  # apart, so that only the request that fails gets the error
                for request in requests:
                    self._serve([request])

    def _take(self) -> list[WaitingSentences]:
        """Remove the oldest request from the queue, and others of its model while they fit into one call."""
        with self._lock:
            taken: list[WaitingSentences] = []
            room = MOST_TOGETHER
            for request in list(self._waiting):
                if not taken or (request.encoder is taken[0].encoder and len(request.sentences) <= room):
                    taken.append(request)
                    room -= len(request.sentences)
                    self._waiting.remove(request)
            self._working = bool(taken)
            return taken

    def _encode(self, requests: list[WaitingSentences]) -> None:
        """Encode these together and give each its rows. Equal sentences are computed once."""
        if not requests:
            return
        sentences = [sentence for request in requests for sentence in request.sentences]
        encoder = requests[0].encoder
        embeddings = in_order(self._device.stream(encoder, sentences, short=self._short), len(sentences), encoder.dim)
        ends = np.cumsum([len(request.sentences) for request in requests])
        for request, part in zip(requests, np.split(embeddings, ends[:-1]), strict=True):
            request.embeddings.set_result(part)
