"""Find which rows of another file already occur in the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.index import VectorIndex
from sbert_app.vectors import Vectors

QUERIES = 1_024  # rows per search of the index


@dataclass(frozen=True)
class Overlap:
    """For each of m rows: its closest row in the corpus, the cosine, and whether both have the same text, (m,) each."""

    rows: NDArray[np.int64]
    scores: Vectors
    same: NDArray[np.bool_]

    def above(self, threshold: float) -> NDArray[np.int64]:
        """The rows whose closest row reaches the threshold, closest first; on a tie the same text first."""
        inside = np.flatnonzero(self.same | (self.scores >= np.float32(threshold)))
        return inside[np.lexsort((inside, -self.scores[inside], ~self.same[inside]))]


def find_overlap(
    index: VectorIndex, corpus: Vectors, corpus_sentences: Sequence[str], vectors: Vectors, sentences: Sequence[str]
) -> Iterator[int | Overlap]:
    """Look up m sentences, unit rows (m, dim), in the corpus; the same text scores 1. Yields the rows done, at last the result."""
    first = {sentence: row for row, sentence in reversed(list(enumerate(corpus_sentences)))}
    same = np.array([first.get(sentence, -1) for sentence in sentences])
    rows = np.zeros(len(vectors), dtype=np.int64)
    for start in range(0, len(vectors), QUERIES):
        block = slice(start, start + QUERIES)
        rows[block] = np.maximum(index.search(vectors[block], 1)[1][:, 0], 0)
        yield min(start + QUERIES, len(vectors))
    rows = np.where(same >= 0, same, rows)
    scores = np.einsum("ij,ij->i", corpus[rows], vectors)
    scores[same >= 0] = 1
    yield Overlap(rows, np.minimum(scores, np.float32(1)), same >= 0)
