"""A corpus ready for search: sentences, unit embeddings, vector and word index; and the ranking over them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import matching_rows
from sbert_app.corpus.index import VectorIndex
from sbert_app.corpus.lexical import LexicalIndex, best_rows, fuse
from sbert_app.corpus.reader import Corpus
from sbert_app.explain.calibration import Calibration
from sbert_app.vectors import Vectors, unit_rows

FUSION = "BM25 and fusion"  # a stage of hybrid search only
WORDS = "BM25"  # the stage of word search
FUSED_DEPTH = 100  # rows that hybrid search takes from each ranking

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Ranking:
    """Rows best first, (k,), their cosines, (k,), milliseconds by stage, and the number of rows that fit the filters."""

    rows: Rows
    scores: Vectors
    milliseconds: dict[str, float]
    fitting: int


@dataclass(frozen=True)
class IndexedCorpus:
    """A corpus and its indexes. `embeddings`: unit rows, (n, dim) float32, of the model with this name and fingerprint.

    truncated: the number of sentences longer than the model reads. saved_id: its id in the library, "" if it is not saved.
    """

    corpus: Corpus
    model: str
    fingerprint: str
    embeddings: Vectors
    index: VectorIndex
    lexical: LexicalIndex
    truncated: int = 0
    saved_id: str = ""

    @classmethod
    def build(cls, corpus: Corpus, model: str, fingerprint: str, embeddings: Vectors, truncated: int = 0) -> "IndexedCorpus":
        """Build both indexes. embeddings: (n, dim), rows of any length."""
        unit = unit_rows(embeddings)
        lexical = LexicalIndex.build(corpus.sentences)
        return cls(corpus, model, fingerprint, unit, VectorIndex.build(unit), lexical, truncated)

    @property
    def key(self) -> str:
        """What opens this corpus again: its id in the library, or the name of the example; "" if only the session holds it."""
        return self.saved_id or (self.corpus.name if self.corpus.first_query else "")

    @cached_property
    def nbytes(self) -> int:
        """Approximate memory in bytes: embeddings, both indexes, texts."""
        texts = sum(map(len, self.corpus.sentences)) + int(self.corpus.metadata.memory_usage(deep=True).sum())
        return self.embeddings.nbytes + int(self.index.report.megabytes * 1e6) + 3 * texts

    @cached_property
    def calibration(self) -> Calibration | None:
        """The scores of random pairs of these sentences; None for a single sentence."""
        return Calibration.from_embeddings(self.corpus.name, self.embeddings)

    def rank(self, query: Vectors, text: str, top: int, filters: Mapping[str, Any], hybrid: bool) -> Ranking:
        """The `top` rows for a unit query vector, (dim,), best first; hybrid fuses them with BM25 over `text`."""
        clock = _Clock()
        with clock.stage("filter"):
            mask = matching_rows(self.corpus.filterable(), filters) if filters else None
        with clock.stage("search"):
            rows = self._closest(query, max(top, FUSED_DEPTH) if hybrid else top, mask)
        if hybrid:
            with clock.stage(FUSION):
                words = self.lexical.scores(text)
                rows = fuse(rows, best_rows(words if mask is None else words * mask, FUSED_DEPTH))
        rows = rows[:top]
        fitting = len(self.corpus) if mask is None else int(mask.sum())
        return Ranking(rows, self.embeddings[rows] @ query, clock.milliseconds, fitting)

    def rank_by_words(self, query: Vectors, text: str, top: int, filters: Mapping[str, Any]) -> Ranking:
        """The `top` rows by BM25 over `text` alone, best first, with their cosines to the unit query vector, (dim,)."""
        clock = _Clock()
        with clock.stage(WORDS):
            mask = matching_rows(self.corpus.filterable(), filters) if filters else np.ones(len(self.corpus), dtype=bool)
            rows = best_rows(self.lexical.scores(text) * mask, top)
        return Ranking(rows, self.embeddings[rows] @ query, clock.milliseconds, int(mask.sum()))

    def _closest(self, query: Vectors, top: int, mask: NDArray[np.bool_] | None) -> Rows:
        if mask is None:
            rows: Rows = self.index.search(query[None], top)[1][0]
            return rows[rows >= 0]
        # An index would miss rows behind a narrow filter: compare the remaining rows exactly.
        remaining = np.flatnonzero(mask)
        scores = self.embeddings[remaining] @ query
        return remaining[np.argsort(-scores, kind="stable")[:top]]


@dataclass
class _Clock:
    milliseconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.milliseconds[name] = (time.perf_counter() - start) * 1e3
