"""Search by words: BM25 (library bm25s), and reciprocal rank fusion to join it with search by meaning."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import bm25s

Rows = NDArray[np.int64]

RRF_K = 60  # Cormack et al. 2009; damps the first ranks so that one ranking alone cannot decide
WORD = re.compile(r"\w+")
NO_WORD = ""  # the token of a sentence without words; no query contains it
# Words that carry no topic; if indexed, "how do I" would outweigh the noun of a question.
STOP_WORDS = frozenset(
    """a an and are as at be but by for from had has have how i if in into is it its me my no not of on or our so
    that the their them then there these they this to was we were what when where which who will with you your do does
    did can could would should am been being he she his her""".split()
)


class LexicalIndex:
    """BM25 scores: 0 and up, higher is closer; not comparable between queries."""

    def __init__(self, scorer: "bm25s.BM25") -> None:
        self._scorer = scorer

    @classmethod
    def build(cls, sentences: Sequence[str]) -> "LexicalIndex":
        import bm25s  # takes half a second: it imports numba

        scorer = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        scorer.index([tokenize(sentence) or [NO_WORD] for sentence in sentences], show_progress=False)
        return cls(scorer)

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score per sentence, (n,); 0 where no word of the query occurs."""
        words = [word for word in tokenize(query) if word in self._scorer.vocab_dict]
        if not words:
            return np.zeros(self._scorer.scores["num_docs"], dtype=np.float32)
        return np.asarray(self._scorer.get_scores(words), dtype=np.float32)

    def save(self, folder: Path) -> None:
        self._scorer.save(folder / "bm25", show_progress=False)

    @classmethod
    def load(cls, folder: Path) -> "LexicalIndex":
        import bm25s

        return cls(bm25s.BM25.load(folder / "bm25"))


def tokenize(sentence: str) -> list[str]:
    """Lower-cased words without stop words. A sentence of stop words alone keeps them."""
    words = WORD.findall(sentence.lower())
    return [word for word in words if word not in STOP_WORDS] or words


def word_overlap(sentence1: str, sentence2: str) -> float:
    """Jaccard overlap of the lower-cased words, 0..1: the simplest baseline for an embedding."""
    words1, words2 = set(WORD.findall(sentence1.lower())), set(WORD.findall(sentence2.lower()))
    return len(words1 & words2) / len(words1 | words2) if words1 | words2 else 0.0


def tf_idf_cosines(columns: Sequence[Sequence[str]]) -> list[NDArray[np.float64]]:
    """The cosine of each first sentence with that of every other column, (n,) each, by words weighted by how rare they are.

    columns: n sentences each; how rare a word is, is counted over all of them.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer  # takes a second

    vectorizer = TfidfVectorizer(token_pattern=WORD.pattern)
    try:
        vectorizer.fit(dict.fromkeys(sentence for column in columns for sentence in column))
    except ValueError:  # no sentence has a word
        return [np.zeros(len(columns[0])) for _ in columns[1:]]
    first, *others = (vectorizer.transform(column) for column in columns)
    return [np.asarray(first.multiply(other).sum(axis=1), dtype=np.float64).ravel() for other in others]


def best_rows(scores: NDArray[np.float32], top: int) -> Rows:
    """Rows of the largest positive scores, best first, at most `top`."""
    top = min(top, len(scores))
    candidates = np.argpartition(-scores, top - 1)[:top]
    ranked = candidates[np.argsort(-scores[candidates], kind="stable")]
    return ranked[scores[ranked] > 0]


def fuse(*rankings: Rows) -> Rows:
    """Reciprocal rank fusion: each ranking gives a row 1 / (60 + its rank); best sum first, every row once."""
    points: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking.tolist(), 1):
            points[row] = points.get(row, 0.0) + 1 / (RRF_K + rank)
    return np.array(sorted(points, key=lambda row: -points[row]), dtype=np.int64)
