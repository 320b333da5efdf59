"""MaxSim: each token of the query is matched with the token of a row that is most similar to it (Khattab & Zaharia 2020)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors

COMPARED = 50  # the best rows of a hybrid ranking, which are compared with the query token by token


@dataclass(frozen=True)
class TokenMatches:
    """Of k rows and q query tokens. scores: weighted means of the similarities, (k,), -1..1; 0 for a row without tokens.

    similarities: the cosine of each query token with its best token of the row, (k, q); tokens: which one, (k, q), -1 for none.
    """

    scores: NDArray[np.float64]
    similarities: Vectors
    tokens: NDArray[np.int64]


def match(query: Vectors, weights: NDArray[np.floating], rows: Sequence[Vectors]) -> TokenMatches:
    """Match the query's tokens, (q, dim), weighted by (q,), with those of each row, (t, dim). All are unit vectors.

    Weights that are all 0 count as equal.
    """
    similarities = np.zeros((len(rows), len(query)), dtype=np.float32)
    tokens = np.full((len(rows), len(query)), -1, dtype=np.int64)
    filled = [number for number, row in enumerate(rows) if len(row)]
    if filled and len(query):
        every = query @ np.concatenate([rows[number] for number in filled]).T  # (q, all tokens)
        ends = np.cumsum([len(rows[number]) for number in filled])
        for number, part in zip(filled, np.split(every, ends[:-1], axis=1), strict=True):
            tokens[number] = part.argmax(axis=1)
            similarities[number] = part[np.arange(len(query)), tokens[number]]
    shares = np.asarray(weights, dtype=np.float64) if np.any(weights) else np.ones(len(query))
    scores = similarities @ shares / max(float(shares.sum()), 1e-12)
    return TokenMatches(scores, similarities, tokens)
