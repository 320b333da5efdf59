"""Find which rows of another file already occur in the corpus."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.index import VectorIndex
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
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


@dataclass(frozen=True)
class Match:
    """A row of another file that occurs in the corpus: both rows as in their files, the cosine, whether the text is the same."""

    row: int
    sentence: str
    corpus_row: int
    corpus_sentence: str
    score: float
    same: bool


@dataclass(frozen=True)
class FileOverlap:
    """The overlap of another file with the corpus, and seconds by stage."""

    indexed: IndexedCorpus
    other: Corpus
    overlap: Overlap
    seconds: dict[str, float]
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def summary(self, threshold: float) -> dict[str, Any]:
        """JSON for the shell: how many rows of the other file occur in the corpus, and which."""
        matches = self.matches(threshold)
        return {
            "file": self.other.name,
            "rows": len(self.other),
            "found": len(matches),
            "same_text": sum(match.same for match in matches),
            "matches": [asdict(match) for match in matches],
            "seconds": self.seconds,
        }

    def matches(self, threshold: float) -> list[Match]:
        """The rows of the other file whose closest corpus row reaches the threshold, closest first."""
        other, corpus, inside = self.other, self.indexed.corpus, self.overlap.above(threshold)
        closest_rows = self.overlap.rows, self.overlap.scores, self.overlap.same
        return [
            Match(int(other.rows[i]), other.sentences[i], int(corpus.rows[closest]), corpus.sentences[closest], score, same)
            for i, closest, score, same in zip(inside.tolist(), *(values[inside].tolist() for values in closest_rows), strict=True)
        ]
