"""Metrics as fractions, 1 is best; screens show them ×100."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation import weighted

Values = NDArray[np.float64] | NDArray[np.float32] | Sequence[float]


def pearson(predicted: Values, gold: Values) -> float:
    """Linear correlation, -1..1."""
    return _unweighted(weighted.pearson, predicted, gold)


def spearman(predicted: Values, gold: Values) -> float:
    """Rank correlation, -1..1, ties share their mean rank. The paper's measure for STS."""
    return _unweighted(weighted.spearman, predicted, gold)


def ndcg(ranked: Sequence[str], relevance: Mapping[str, float], top: int = 10) -> float:
    """Normalised discounted cumulative gain of one query's ranking, 0..1 (trec_eval's linear gain)."""
    gains = [relevance.get(item, 0.0) for item in ranked[:top]]
    ideal = sorted(relevance.values(), reverse=True)[:top]
    best = _discounted(ideal)
    return _discounted(gains) / best if best else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return float(sum(gain / np.log2(rank + 1) for rank, gain in enumerate(gains, 1)))


def _unweighted(metric: weighted.Metric, predicted: Values, gold: Values) -> float:
    first, second = (np.asarray(values, dtype=np.float64) for values in (predicted, gold))
    return float(metric(first, second, np.ones((1, len(gold))))[0])
