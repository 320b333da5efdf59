"""The pairs of a corpus that a person is asked about: near by meaning or by words, as two random rows are hardly ever alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.ranking.lexical import best_rows
from sbert_app.errors import UserError
from sbert_app.explain.words import word_overlap
from sbert_app.vectors import Rows, Vectors

ROWS, NEAR = 2_000, 8  # rows whose neighbours are candidates, and how many by meaning
WORDS_ROWS, WORDS_NEAR = 500, 4  # by words (BM25)
STRATA = 8  # of the cosine: the pairs to measure by are spread over them
LEAST = 40  # candidates


@dataclass(frozen=True)
class Candidates:
    """Pairs of rows of a corpus, rows1[i] < rows2[i], in random order.

    scores: their cosines, (m,); words: the share of their words in common, (m,), 0..1; measured: which are to measure by, (m,),
    half: the others are to learn from; strata: in which of STRATA equal ranges of the cosine each is, (m,).
    """

    rows1: Rows
    rows2: Rows
    scores: Vectors
    words: NDArray[np.float64]
    measured: NDArray[np.bool_]
    strata: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows1)


def candidates(indexed: IndexedCorpus, seed: int = 0) -> Candidates:
    """Draw rows, and pair each with those nearest to it. Equal texts are no pair. Raises UserError for a corpus that has few."""
    random, corpus = np.random.default_rng(seed), indexed.corpus
    first_with = _first_with_text(corpus.sentences)
    rows = random.permutation(np.unique(first_with))[:ROWS]
    near = indexed.index.search(indexed.embeddings[rows], NEAR + 1)[1]
    pairs = [np.stack([np.repeat(rows, near.shape[1]), near.ravel()], axis=1)]
    for row in rows[:WORDS_ROWS].tolist():
        others = best_rows(indexed.lexical.scores(corpus.sentences[row]), WORDS_NEAR + 1)
        pairs.append(np.stack([np.full(len(others), row), others], axis=1))
    joined = np.concatenate(pairs)
    joined = np.sort(first_with[joined[(joined >= 0).all(axis=1)]], axis=1)
    unique = np.unique(joined[joined[:, 0] < joined[:, 1]], axis=0)
    if len(unique) < LEAST:
        raise UserError(f"This corpus has {len(unique)} pairs to ask about, at least {LEAST} are needed. Open one with more rows.")
    rows1, rows2 = random.permutation(unique).T
    scores = np.einsum("ij,ij->i", indexed.embeddings[rows1], indexed.embeddings[rows2])
    shared = [word_overlap(corpus.sentences[one], corpus.sentences[two]) for one, two in zip(rows1, rows2, strict=True)]
    edges = np.linspace(scores.min(), scores.max(), STRATA + 1)[1:-1]
    return Candidates(rows1, rows2, scores, np.array(shared), np.arange(len(rows1)) % 2 == 0, np.digitize(scores, edges))


def _first_with_text(sentences: list[str]) -> Rows:
    """For each row the first one whose text differs at most in capitals and blanks."""
    seen: dict[str, int] = {}
    return np.array([seen.setdefault(" ".join(text.casefold().split()), i) for i, text in enumerate(sentences)], dtype=np.int64)
