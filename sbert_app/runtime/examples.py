"""What all visitors share of each encoder: the example corpora, indexed once, and how it scores the reference pairs."""

import threading
from collections import OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.explain.scale import Calibration, Pairs, References, Scale, reference_pairs
from sbert_app.runtime.embedding import Embedder
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Table, read_table
from sbert_app.vectors import unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

FOLDER = ASSETS / "examples"
CALIBRATION_EXAMPLE = "support_tickets.csv"
# The first query shown for an example: its words do not occur in the best hit.
FIRST_QUERIES = {
    "support_tickets.csv": "charged two times for the same thing",
    "field_notes.csv": "my kettle has white stuff inside",
}
KEPT = 8  # indexed corpora in memory: two for each of a few models
KEPT_REFERENCES = 8  # encoders; a few kilobytes each


class ExampleCorpora:
    """Example corpora by name and encoder. Each has its own lock, so that embedding one does not block the others."""

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._limits = embedder, limits
        self._references = ReferenceScores(embedder, limits)
        self._indexed: OrderedDict[tuple[str, str], IndexedCorpus] = OrderedDict()
        self._indexing: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # locks, as long as somebody waits
        self._lock = threading.Lock()

    @property
    def queries(self) -> list[str]:
        """The first queries of all examples."""
        return list(FIRST_QUERIES.values())

    def names(self) -> list[str]:
        return sorted(path.name for path in FOLDER.glob("*.csv"))

    def table(self, name: str) -> Table:
        """An example as a table. Raises UserError for an unknown name."""
        self._check(name)
        return read_table(FOLDER / name, self._limits)

    def indexed(self, name: str, encoder: "Encoder") -> IndexedCorpus:
        """An example, embedded and indexed with this encoder. Raises UserError for an unknown name."""
        self._check(name)  # unknown names must not pile up
        key = name, encoder.fingerprint
        with self._lock:
            indexing = self._indexing.setdefault(key, threading.Lock())
        with indexing:
            indexed = self._indexed.get(key) or self._index(name, encoder)
        with self._lock:
            self._indexed[key] = indexed
            self._indexed.move_to_end(key)
            while len(self._indexed) > KEPT:
                self._indexed.popitem(last=False)
        return indexed

    def calibration(self, encoder: "Encoder", corpus: IndexedCorpus | None = None) -> Calibration | None:
        """Calibration from this corpus if the encoder embedded it, else from the example support tickets."""
        calibration = corpus.calibration if corpus is not None and corpus.fingerprint == encoder.fingerprint else None
        return calibration or self._example_calibration(encoder)

    def scale(self, encoder: "Encoder", corpus: IndexedCorpus | None = None) -> Scale | None:
        """What this encoder's scores mean: random pairs as in `calibration`, and the reference pairs."""
        calibration = self.calibration(encoder, corpus)
        return Scale(calibration, self.references(encoder)) if calibration else None

    def references(self, encoder: "Encoder") -> References:
        """How this encoder scores the reference pairs."""
        return self._references.of(encoder)

    def _example_calibration(self, encoder: "Encoder") -> Calibration | None:
        calibration = self.indexed(CALIBRATION_EXAMPLE, encoder).calibration
        return replace(calibration, example=True) if calibration else None

    def _check(self, name: str) -> None:
        if name not in self.names():
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(self.names())}.")

    def _index(self, name: str, encoder: "Encoder") -> IndexedCorpus:
        table = self.table(name)
        corpus = read_corpus(table, [guess_column(table.frame)], self._limits)
        corpus = replace(corpus, first_query=FIRST_QUERIES.get(name, ""))
        job = self._embedder.job(encoder, corpus.sentences)
        deque(job.run(), maxlen=0)  # run to the end
        return IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, job.embeddings)


class ReferenceScores:
    """Scores of the reference pairs by encoder."""

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._limits = embedder, limits
        self._measured: OrderedDict[str, References] = OrderedDict()
        self._measuring = threading.Lock()  # one encoder at a time

    def of(self, encoder: "Encoder") -> References:
        """The scores under this encoder, measured at its first use."""
        if (known := self._measured.get(encoder.fingerprint)) is not None:
            return known
        with self._measuring:
            if encoder.fingerprint not in self._measured:
                self._measured[encoder.fingerprint] = self._measure(encoder)
                while len(self._measured) > KEPT_REFERENCES:
                    self._measured.popitem(last=False)
            return self._measured[encoder.fingerprint]

    def _measure(self, encoder: "Encoder") -> References:
        return References(*(self._scores(encoder, pairs) for pairs in reference_pairs(self._limits)))

    def _scores(self, encoder: "Encoder", pairs: Pairs) -> NDArray[np.float32]:
        """The cosine of each pair, rising, (n,)."""
        job = self._embedder.job(encoder, [sentence for pair in pairs for sentence in pair])
        deque(job.run(), maxlen=0)  # run to the end
        unit = unit_rows(job.embeddings)
        return np.sort(np.einsum("nd,nd->n", unit[0::2], unit[1::2]))
