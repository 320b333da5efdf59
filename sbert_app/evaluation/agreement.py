"""Measure how far scores agree: two systems' with each other, a system's with labels, and after training with the gold values."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sbert_app.evaluation import metrics
from sbert_app.evaluation.metrics import MetricEstimate, best_cut, interval, resampled, resamples_for
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.vectors import Array, Integers, Rows, Vectors

TOP = 10
MARGINS = ("triplets", "positives")  # kinds whose prediction is the lead of the right sentence
MOST_DECIMALS = 9


@dataclass(frozen=True)
class Agreement:
    """Agreement of two systems on the same pairs. `shared`: number of pairs among the `top` closest of both systems."""

    pairs: int
    same_first: bool
    shared: int
    top: int
    spearman: float  # -1..1


def agreement(scores1: Vectors, scores2: Vectors) -> Agreement:
    """Compare two score lists over the same pairs, (p,) each, p >= 2. Higher is closer in both."""
    top = min(TOP, len(scores1))
    first, second = (np.argsort(-scores, kind="stable")[:top].tolist() for scores in (scores1, scores2))
    return Agreement(len(scores1), first[0] == second[0], len(set(first) & set(second)), top, spearman(scores1, scores2))


def spearman(predicted: ArrayLike, gold: ArrayLike) -> float:
    """Rank correlation, -1..1, ties share their mean rank. The paper's measure for STS."""
    first, second = (np.asarray(values, dtype=np.float64) for values in (predicted, gold))
    return float(metrics.spearman(first, second, np.ones((1, len(first))))[0])


def gains(kind: str, before: Array, after: Array, gold: Array) -> Array:
    """How much closer each example is to its gold value after training than before, (n,); below zero: further away."""
    if kind in MARGINS:
        return after - before
    if kind == "labelled":  # a pair of the positive label improves by rising, also above its label's mean rank
        return np.where(gold > 0, 1, -1) * (rank_shares(after) - rank_shares(before))
    target = rank_shares(gold)  # two models' cosines are not on one scale
    return np.abs(rank_shares(before) - target) - np.abs(rank_shares(after) - target)


def rank_shares(values: NDArray[np.floating]) -> Array:
    """Each value's mean rank as a share of the ranking, 0..1. (n,) -> (n,)."""
    return (metrics.ranks(values, np.ones((1, len(values))))[0] - 1) / max(1, len(values) - 1)


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


def label_agreement(kind: str, predicted: Array, gold: Array, groups: Integers | None = None) -> LabelAgreement:
    """Compare n scores with n gold values of two or more different ones. kind: "scored" (grades) or "labelled" (gold: 0 or 1).

    groups: of pairs that are resampled together, (n,); None: each alone.
    """
    measures, (name, metric) = measure(kind, predicted, gold), next(iter(METRICS[kind].items()))
    estimate = interval(measures[name], resampled(metric, predicted, gold, np.arange(len(gold)) if groups is None else groups))
    threshold = best_threshold(predicted, gold) if kind == "labelled" else None
    return LabelAgreement(len(gold), measures, estimate, resamples_for(len(gold)), threshold)


def best_threshold(predicted: Array, gold: Array) -> Threshold:
    """The threshold of the highest accuracy, with as few decimals as separate the same pairs. gold: (n,), 0 or 1."""
    below, above = best_cut(predicted, gold)
    accuracy, positive = measure("labelled", predicted, gold)["accuracy"], float(gold.mean())
    value = shortest_between(below, above) if math.isfinite(below) and math.isfinite(above) else None
    return Threshold(value, accuracy, max(positive, 1 - positive))


def shortest_between(below: float, above: float) -> float:
    """The number of the fewest decimals, at least two, that is above `below` and at most `above`."""
    cut = (math.floor(above * 10.0**decimals) / 10.0**decimals for decimals in range(2, MOST_DECIMALS))
    return next((value for value in cut if value > below), above)


def neighbours_moved(before: Vectors, after: Vectors) -> float:
    """The share of the TOP nearest rows of each row that are others after than before, 0..1. Unit vectors, (n, dim) each."""
    top = min(TOP, len(before) - 1)
    near = []
    for vectors in (before, after):
        cosines = vectors @ vectors.T
        np.fill_diagonal(cosines, -np.inf)
        near.append(np.argsort(-cosines, axis=1, kind="stable")[:, :top])
    return float(1 - (near[0][:, :, None] == near[1][:, None]).any(axis=2).mean()) if top > 0 else 0.0


def disagreements(predicted: Array, gold: Array, most: int) -> tuple[Rows, Rows]:
    """The positions of at most `most` pairs whose score ranks highest above their gold value, and lowest below it, worst first."""
    gap = rank_shares(predicted) - rank_shares(gold)  # scores and labels are not on one scale
    order = np.argsort(-gap, kind="stable")
    too_high = order[(gap[order] > 0) & (gold[order] < gold.max())]
    too_low = order[::-1][(gap[order[::-1]] < 0) & (gold[order[::-1]] > gold.min())]
    return too_high[:most], too_low[:most]
