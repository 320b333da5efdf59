"""Which rows of one corpus stand in another: for each its closest row there, and whether the text is the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.index import VectorIndex
from sbert_app.vectors import Vectors

QUERIES = 1_024  # rows asked at a time


@dataclass(frozen=True)
class Overlap:
    """For each of m rows: its closest row in the other corpus, the cosine, and whether both have the same text, (m,) each."""

    rows: NDArray[np.int64]
    scores: Vectors
    same: NDArray[np.bool_]

    def above(self, threshold: float) -> NDArray[np.int64]:
        """The rows whose closest reaches the threshold, closest first, the same text before what is as close."""
        inside = np.flatnonzero(self.same | (self.scores >= np.float32(threshold)))
        return inside[np.lexsort((inside, -self.scores[inside], ~self.same[inside]))]


def find_overlap(
    index: VectorIndex, there: Vectors, texts: Sequence[str], here: Vectors, sentences: Sequence[str]
) -> Iterator[int | Overlap]:
    """Look up m sentences, unit rows `here` (m, dim), in the corpus of `texts`, unit rows `there` (n, dim), with its index.

    Yields the number of rows done, at the end the result. The same text counts as 1 wherever the index would look.
    """
    first = {text: row for row, text in reversed(list(enumerate(texts)))}
    same = np.array([first.get(sentence, -1) for sentence in sentences])
    rows = np.zeros(len(here), dtype=np.int64)
    for start in range(0, len(here), QUERIES):
        block = slice(start, start + QUERIES)
        rows[block] = np.maximum(index.search(here[block], 1)[1][:, 0], 0)
        yield min(start + QUERIES, len(here))
    rows = np.where(same >= 0, same, rows)
    scores = np.einsum("ij,ij->i", there[rows], here)
    scores[same >= 0] = 1
    yield Overlap(rows, np.minimum(scores, np.float32(1)), same >= 0)
