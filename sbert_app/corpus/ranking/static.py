"""Static vectors: where a row probably lies, judged by its words alone. They choose what the model reads, and are never a score."""

from collections.abc import Callable

import numpy as np

from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.vectors import Rows, Vectors, unit_rows

MOST_WORDS = 5_000  # of a corpus that are encoded, those that weigh most; twice as many find as much (docs/search.md)
SHRINKAGE, PART = 0.01, 10_000  # of the map, times the rows that it learns from; rows mapped at a time


class StaticVectors:
    """Unit vectors of all rows of a corpus, (n, dim) float32, zero for a row without such a word.

    The model encodes each word by itself, as model2vec does each token; a row is the sum over its words as BM25 weights them. The
    mean is taken from the words, for it says nothing of a row.
    """

    def __init__(self, lexical: LexicalIndex, encode: Callable[[list[str]], Vectors]) -> None:
        """encode: w words -> (w, dim)."""
        weights, words = lexical.weighted_words()
        heaviest = np.argsort(-np.asarray(weights.sum(axis=0)).ravel(), kind="stable")[:MOST_WORDS]
        vectors = unit_rows(encode([words[word] for word in heaviest.tolist()]))
        self.rows = unit_rows(weights[:, heaviest] @ unit_rows(vectors - vectors.mean(axis=0)))
        self._map, self._lengths = np.eye(self.rows.shape[1], dtype=np.float32), np.ones(len(self.rows), np.float32)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes

    def learn(self, rows: Rows, embeddings: Vectors) -> None:
        """Map the vectors closer to the model's: ridge regression on some rows, (k,), and their unit embeddings, (k, dim).

        It is shrunk towards no map at all, so that some hundred rows do no harm.
        """
        known, strength = self.rows[rows], SHRINKAGE * len(rows) * np.eye(self.rows.shape[1])
        mapped = np.linalg.solve(known.T @ known + strength, known.T @ embeddings + strength).astype(np.float32)
        parts = np.array_split(self.rows, -(-len(self.rows) // PART))
        lengths = np.concatenate([np.linalg.norm(part @ mapped, axis=1) for part in parts])
        self._map, self._lengths = mapped, np.maximum(lengths, 1e-12)

    def cosines(self, query: Vectors) -> Vectors:
        """How close each row probably is to a unit query, (dim,) -> (n,)."""
        return self.rows @ (self._map @ query) / self._lengths
