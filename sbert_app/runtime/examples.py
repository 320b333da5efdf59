"""What all visitors share of each encoder: the example corpora, indexed once, and how it scores the reference pairs."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus, read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.errors import UserError
from sbert_app.explain.scale import Calibration, Pairs, References, Scale, reference_pairs
from sbert_app.runtime.device import Embedder
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Table, read_table
from sbert_app.vectors import Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

FOLDER = ASSETS / "examples"
CALIBRATION_EXAMPLE = "support_tickets.csv"
# The first query shown for an example: its words do not occur in the best hit.
FIRST_QUERIES = {
    "support_tickets.csv": "charged two times for the same thing",
    "field_notes.csv": "my kettle has white stuff inside",
}
KEPT = 20  # in memory: two corpora, embedded and indexed, and the scores of reference and random pairs, for each of a few models

Made = TypeVar("Made")


class ExampleCorpora:
    """Example corpora by name and encoder, and each encoder's scores of the reference pairs. Embedding one blocks no other."""

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._limits = embedder, limits
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._making: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # locks, as long as somebody waits
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        return sorted(path.name for path in FOLDER.glob("*.csv"))

    def table(self, name: str) -> Table:
        """An example as a table. Raises UserError for an unknown name."""
        if name not in self.names():
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(self.names())}.")
        return read_table(FOLDER / name, self._limits)

    def indexed(self, name: str, encoder: "Encoder") -> IndexedCorpus:
        """An example, embedded and indexed with this encoder. Raises UserError for an unknown name."""
        return self._once(name, encoder, lambda: self._index(name, encoder))

    def calibration(self, encoder: "Encoder", corpus: IndexedCorpus | None = None) -> Calibration:
        """Calibration from this corpus if the encoder embedded it, else from the example support tickets."""
        if corpus is not None and corpus.fingerprint == encoder.fingerprint and corpus.calibration:
            return corpus.calibration

        def draw() -> Calibration:
            example, embeddings = self._embedded(CALIBRATION_EXAMPLE, encoder)  # not indexed: FAISS and BM25 take 0.3 s
            return replace(Calibration.from_embeddings(example.name, embeddings), example=True)

        return self._once("random pairs", encoder, draw)

    def scale(self, encoder: "Encoder", corpus: IndexedCorpus | None = None) -> Scale:
        """What this encoder's scores mean: random pairs as in `calibration`, and the reference pairs."""
        return Scale(self.calibration(encoder, corpus), self.references(encoder))

    def references(self, encoder: "Encoder") -> References:
        """How this encoder scores the reference pairs."""

        def cosines(pairs: Pairs) -> Vectors:
            """The cosine of each pair, rising, (n,)."""
            unit = unit_rows(self._embedder.embed(encoder, [sentence for pair in pairs for sentence in pair]))
            return np.sort(np.einsum("nd,nd->n", unit[0::2], unit[1::2]))

        return self._once("reference pairs", encoder, lambda: References(*map(cosines, reference_pairs(self._limits))))

    def _once(self, name: str, encoder: "Encoder", make: Callable[[], Made]) -> Made:
        """What is kept under this name for this encoder, made at its first use."""
        key = name, encoder.fingerprint
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            made: Made = self._kept.get(key) or make()
            with self._lock:
                self._kept[key] = made
                self._kept.move_to_end(key)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
        return made

    def _index(self, name: str, encoder: "Encoder") -> IndexedCorpus:
        corpus, embeddings = self._embedded(name, encoder)
        return IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, embeddings)

    def _embedded(self, name: str, encoder: "Encoder") -> tuple[Corpus, Vectors]:
        def read() -> tuple[Corpus, Vectors]:
            table = self.table(name)
            corpus = read_corpus(table, [guess_column(table.frame)], self._limits)
            return replace(corpus, first_query=FIRST_QUERIES.get(name, "")), self._embedder.embed(encoder, corpus.sentences)

        return self._once(f"embeddings of {name}", encoder, read)
