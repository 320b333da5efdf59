"""Figures of merit, as fractions. Best value 1 for each; screens show them ×100."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64] | NDArray[np.float32] | Sequence[float]


def pearson(predicted: Values, gold: Values) -> float:
    """Linear correlation, -1..1."""
    return float(np.corrcoef(predicted, gold)[0, 1])


def spearman(predicted: Values, gold: Values) -> float:
    """Rank correlation, -1..1, equal values sharing their mean rank. The paper's measure for STS."""
    return pearson(_ranks(predicted), _ranks(gold))


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], top: int = 10) -> float:
    """Normalised discounted cumulative gain of one query's ranking, 0..1 (trec_eval's linear gain)."""
    gains = [relevance.get(item, 0.0) for item in ranked[:top]]
    ideal = sorted(relevance.values(), reverse=True)[:top]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return float(sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, 1)))


def _ranks(values: Values) -> NDArray[np.float64]:
    array = np.asarray(values)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)
