"""What all services share, built once: models, the device lock, sessions, the cache, the example corpora."""

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import Library
from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.explain.calibration import Calibration
from sbert_app.mapping import projection
from sbert_app.models.batching import Rows
from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.encoder import Encoder
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, Registry
from sbert_app.runtime.embedding import EmbeddingJob
from sbert_app.runtime.sessions import Session, Sessions
from sbert_app.settings import Settings
from sbert_app.tables import Table, read_table
from sbert_app.vectors import Vectors

log = logging.getLogger(__name__)

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "examples"
CALIBRATION_EXAMPLE = "support_tickets.csv"
CLOSING_SECONDS = 5  # the longest part of any work between two looks at the lock
EXAMPLES_KEPT = 8  # two corpora for each of a few models


class Workbench:
    """One for the whole app, passed to each service. Holds nothing of one visitor but in `sessions`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.registry = Registry(settings)
        self.sessions = Sessions(settings.limits)
        self.library = Library(settings.corpora)
        self.cache = EmbeddingCache(settings.cache / "embeddings")
        self._device = threading.Lock()
        self._turnstile = threading.Lock()
        self._examples: dict[tuple[str, str], IndexedCorpus] = {}
        self._examples_lock = threading.Lock()

    @contextmanager
    def device(self) -> Iterator[float]:
        """Hold the device for one batch; gives the seconds that others were served before.

        Waiting requests come in turn: a bare lock would let a long job starve them.
        """
        asked = time.perf_counter()
        with self._turnstile:
            self._device.acquire()
        try:
            yield time.perf_counter() - asked
        finally:
            self._device.release()

    def close(self) -> None:
        """Take the device for good: a thread that computes while the interpreter shuts down would abort the process."""
        self.sessions.close()
        if self._turnstile.acquire(timeout=CLOSING_SECONDS):
            self._device.acquire(timeout=CLOSING_SECONDS)

    def corpus_of(self, session_id: str) -> IndexedCorpus:
        """The corpus that the visitor opened. Raises UserError where there is none."""
        corpus = self.sessions.get(session_id).corpus
        if corpus is None:
            raise UserError("There is no corpus yet. Upload one in the Search tab, or pick an example.")
        return corpus

    def encoder_of(self, indexed: IndexedCorpus) -> Encoder:
        """The model the corpus was indexed with, whatever is picked now: other models' vectors do not compare."""
        encoder = self.registry.encoder(indexed.model)
        if encoder.fingerprint != indexed.fingerprint:
            raise UserError(f"The model '{indexed.model}' has changed since this corpus was indexed. Index it again.")
        return encoder

    def encode(self, encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> Vectors:
        """Embed a few sentences now. n strings -> (n, dim) float32."""
        with self.device():
            return encoder.encode(sentences, prompt)

    def stream(self, encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> Iterator[tuple[Rows, Vectors]]:
        """Embed many sentences batch by batch, the device free for others between two batches."""
        return self._each(encoder.stream(sentences, prompt))

    def _each(self, batches: Iterator[tuple[Rows, Vectors]]) -> Iterator[tuple[Rows, Vectors]]:
        while True:
            with self.device():
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def stream_pairs(self, cross: CrossEncoder, pairs: Sequence[Pair]) -> Iterator[tuple[Rows, Vectors]]:
        """Score pairs batch by batch, the device free for others between two batches."""
        return self._each(cross.stream(pairs))

    def example_names(self) -> list[str]:
        return sorted(path.name for path in EXAMPLES.glob("*.csv"))

    def example_table(self, name: str) -> Table:
        if name not in self.example_names():
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(self.example_names())}.")
        return read_table(EXAMPLES / name, self.settings.limits)

    def example(self, name: str, encoder: Encoder) -> IndexedCorpus:
        """A bundled corpus, indexed once a model and shared: it is nobody's data."""
        key = name, encoder.fingerprint
        with self._examples_lock:
            if key not in self._examples:
                table = self.example_table(name)
                corpus = read_corpus(table, [guess_column(table.frame)], self.settings.limits)
                job = EmbeddingJob(self, encoder, corpus.sentences)
                deque(job.run(), maxlen=0)  # run to the end
                self._examples[key] = IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, job.embeddings)
                if len(self._examples) > EXAMPLES_KEPT:
                    del self._examples[next(iter(self._examples))]
            return self._examples[key]

    def calibration(self, encoder: Encoder, session: Session | None = None) -> Calibration | None:
        """Random pairs of the visitor's corpus where there is one of this model, else of the bundled examples."""
        corpus = session.corpus if session else None
        if corpus is None or corpus.fingerprint != encoder.fingerprint:
            corpus = self.example(CALIBRATION_EXAMPLE, encoder)
        return corpus.calibration or self.example(CALIBRATION_EXAMPLE, encoder).calibration

    def warm_up(self) -> None:
        """Load the default model and index the examples, so that the first request finds them ready."""
        start = time.perf_counter()
        try:
            encoder = self.registry.encoder(DEFAULT_ENCODER)
            for name in self.example_names():
                self.example(name, encoder)
            self.calibration(encoder)
            self.registry.cross_encoder(DEFAULT_CROSS_ENCODER)
            log.info("examples ready after %.1f s", time.perf_counter() - start)
            projection.warm_up()
        except UserError as error:
            log.warning("not warmed up: %s", error)
        else:
            log.info("ready after %.1f s on %s", time.perf_counter() - start, self.registry.hardware)
