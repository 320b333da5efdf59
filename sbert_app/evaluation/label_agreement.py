"""Measure how well scores of pairs agree with labels that people gave: grades, or two values."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.estimate import MetricEstimate, estimate, resamples_for
from sbert_app.evaluation.movers import rank_shares
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.evaluation.weighted import Array, best_cut

MOST_DECIMALS = 9
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Threshold:
    """The score from which on pairs are called positive, chosen on the same pairs. None: calling all, or none, positive is best."""

    value: float | None
    accuracy: float  # share of pairs that it calls correctly
    majority: float  # the same for calling every pair by the more frequent value

    @property
    def helps(self) -> bool:
        """Whether it calls more pairs correctly than the more frequent value alone."""
        return self.value is not None and self.accuracy > self.majority


@dataclass(frozen=True)
class LabelAgreement:
    """Agreement of scores with labels over `pairs` pairs, as fractions. `estimate`: the first measure, with its interval."""

    pairs: int
    measures: dict[str, float]
    estimate: MetricEstimate
    resamples: int
    threshold: Threshold | None = None  # labels of two values


def label_agreement(kind: str, predicted: Array, gold: Array) -> LabelAgreement:
    """Compare n scores with n gold values of two or more different ones. kind: "scored" (grades) or "labelled" (gold: 0 or 1)."""
    measures, metric = measure(kind, predicted, gold), next(iter(METRICS[kind].values()))
    threshold = best_threshold(predicted, gold) if kind == "labelled" else None
    return LabelAgreement(len(gold), measures, estimate(metric, predicted, gold), resamples_for(len(gold)), threshold)


def best_threshold(predicted: Array, gold: Array) -> Threshold:
    """The threshold of the highest accuracy, with as few decimals as separate the same pairs. gold: (n,), 0 or 1."""
    below, above = best_cut(predicted, gold)
    accuracy, positive = measure("labelled", predicted, gold)["accuracy"], float(gold.mean())
    value = shortest_between(below, above) if math.isfinite(below) and math.isfinite(above) else None
    return Threshold(value, accuracy, max(positive, 1 - positive))


def shortest_between(below: float, above: float) -> float:
    """The number of the fewest decimals, at least two, that is above `below` and at most `above`."""
    for decimals in range(2, MOST_DECIMALS):
        value = math.floor(above * 10.0**decimals) / 10.0**decimals
        if value > below:
            return value
    return above


def disagreements(predicted: Array, gold: Array, most: int) -> tuple[Positions, Positions]:
    """The positions of at most `most` pairs whose score ranks highest above their gold value, and lowest below it, worst first.

    Both are compared as shares of their ranking, as scores and labels are not on one scale.
    """
    gap = rank_shares(predicted) - rank_shares(gold)
    order = np.argsort(-gap, kind="stable")
    too_high = order[(gap[order] > 0) & (gold[order] < gold.max())]
    too_low = order[::-1][(gap[order[::-1]] < 0) & (gold[order[::-1]] > gold.min())]
    return too_high[:most], too_low[:most]
