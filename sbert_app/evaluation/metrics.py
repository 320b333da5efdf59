"""Metrics, their 95 % intervals by bootstrap, and how many examples would settle a change that these leave open.

A metric is of R resamples at once, each given as the count of every row, so that rows are sorted only once:
predicted, gold: (n,); weights: (R, n) counts -> (R,) values.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Array, Integers

RESAMPLES = 2_000
CONFIDENCE = 0.95
BLOCK_CELLS = 1_000_000  # resampled rows measured at a time: bounds memory
MOST_CELLS = 10_000_000  # resampled rows in all: bounds time, so that many rows get fewer resamples
LEAST_RESAMPLES = 200
LEAST_CHANGE = 0.0005  # less is shown as 0.0: no number of examples settles nothing
MOST = 1_000_000
Z_INTERVAL, Z_POWER = 1.96, 0.84  # normal quantiles of 97.5 % and 80 %
UNDEFINED = (-1.0, -1.0, 1.0)

Metric = Callable[[Array, Array, Array], Array]


def pearson(predicted: Array, gold: Array, weights: Array) -> Array:
    """Linear correlation, -1..1; nan where one side is constant. predicted and gold may be (R, n) too."""
    total = weights.sum(1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = predicted - (weights * predicted).sum(1, keepdims=True) / total
        y = gold - (weights * gold).sum(1, keepdims=True) / total
        return (weights * x * y).sum(1) / np.sqrt((weights * x * x).sum(1) * (weights * y * y).sum(1))


def spearman(predicted: Array, gold: Array, weights: Array) -> Array:
    """Rank correlation, -1..1, ties share their mean rank. The paper's measure for STS."""
    return pearson(ranks(predicted, weights), ranks(gold, weights), weights)


def average_precision(predicted: Array, gold: Array, weights: Array) -> Array:
    """Area under the precision-recall curve, 0..1. gold: 1 for positive rows, else 0."""
    hits, rows = _cumulated(predicted, gold, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(rows > 0, hits / rows, 0.0)
        return (precision * np.diff(hits, axis=1, prepend=0.0)).sum(1) / hits[:, -1]


def best_accuracy(predicted: Array, gold: Array, weights: Array) -> Array:
    """Accuracy at the threshold that is best for these rows, 0..1."""
    hits, rows = _cumulated(predicted, gold, weights)
    correct = 2 * hits - rows + (rows[:, -1:] - hits[:, -1:])  # positives above the threshold, negatives below it
    negatives = rows[:, -1] - hits[:, -1]
    return np.maximum(correct.max(1), negatives) / rows[:, -1]


def best_f1(predicted: Array, gold: Array, weights: Array) -> Array:
    """Harmonic mean of precision and recall at the threshold that is best for these rows, 0..1."""
    hits, rows = _cumulated(predicted, gold, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        return (2 * hits / (rows + hits[:, -1:])).max(1)


def best_cut(predicted: Array, gold: Array) -> tuple[float, float]:
    """Return the two neighbouring scores between which the threshold of `best_accuracy` lies: (below it, lowest at or above it).

    (highest score, inf) if it is best to call no row positive, (-inf, lowest score) if all; of equally good ones, the highest.
    """
    hits, rows = _cumulated(predicted, gold, np.ones((1, len(gold))))
    correct = np.concatenate([[0.0], (2 * hits - rows)[0]])  # against calling no row positive
    best = int(correct.argmax())
    scores = [np.inf, *np.unique(predicted)[::-1].tolist(), -np.inf]
    return scores[best + 1], scores[best]


def share_positive(predicted: Array, gold: Array, weights: Array) -> Array:
    """Share of rows whose predicted margin is above zero, 0..1: triplet accuracy."""
    return (weights * (predicted > 0)).sum(1) / weights.sum(1)


def mean(predicted: Array, gold: Array, weights: Array) -> Array:
    """Mean of the rows' values, such as of a measure of each query."""
    return (weights * predicted).sum(1) / weights.sum(1)


def share_equal(predicted: Array, gold: Array, weights: Array) -> Array:
    """Share of rows whose predicted class is theirs, 0..1."""
    return share_positive((predicted == gold).astype(np.float64), gold, weights)


def v_measure(predicted: Array, gold: Array, weights: Array) -> Array:
    """Harmonic mean of homogeneity and completeness, 0..1 (Rosenberg & Hirschberg 2007). predicted: clusters, gold: classes."""
    clusters, classes = (np.unique(column, return_inverse=True)[1] for column in (predicted, gold))
    apart = _entropy(clusters, weights) + _entropy(classes, weights)
    with np.errstate(invalid="ignore"):
        return np.where(apart > 0, 2 - 2 * _entropy(classes * (clusters.max() + 1) + clusters, weights) / apart, 1.0)


def _entropy(labels: Integers, weights: Array) -> Array:
    """The entropy of the labels in each resample, in nats. (n,), (R, n) -> (R,)."""
    _, order, starts = _groups(labels.astype(np.float64))
    shares = np.add.reduceat(weights[:, order], starts, axis=1) / weights.sum(1, keepdims=True)
    return -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(1)


def ranks(values: NDArray[np.floating], weights: Array) -> Array:
    """Rank of each row in each resample, from 1, ties sharing their mean. (n,), (R, n) -> (R, n)."""
    group, order, starts = _groups(values)
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(counts, axis=1) - (counts - 1) / 2)[:, group]


def _cumulated(predicted: Array, gold: Array, weights: Array) -> tuple[Array, Array]:
    """Return the numbers of (positives, rows) at or above each distinct score, highest first. Each (R, groups)."""
    _, order, starts = _groups(-predicted)
    sorted_weights = weights[:, order]
    hits = np.add.reduceat(sorted_weights * gold[order], starts, axis=1)
    rows = np.add.reduceat(sorted_weights, starts, axis=1)
    return np.cumsum(hits, axis=1), np.cumsum(rows, axis=1)


def _groups(values: NDArray[np.floating]) -> tuple[Integers, Integers, Integers]:
    """Return (each row's group of equal values, ascending, order of rows by value, start of each group in that order)."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return group, np.argsort(values, kind="stable"), np.concatenate([[0], np.cumsum(counts)[:-1]])


@dataclass(frozen=True)
class MetricEstimate:
    """A metric with its 95 % bootstrap interval, as fractions."""

    value: float
    low: float
    high: float


def resample_weights(count: int, resamples: int, generator: np.random.Generator) -> Array:
    """How often each of `count` rows is drawn in each resample, (resamples, count)."""
    return generator.multinomial(count, np.full(count, 1 / count), size=resamples).astype(np.float64)


def resamples_for(count: int) -> int:
    """How many resamples `count` rows get: RESAMPLES, fewer for many rows, whose interval is narrow."""
    return max(LEAST_RESAMPLES, min(RESAMPLES, MOST_CELLS // count))


def resampled(metric: Metric, predicted: Array, gold: Array, groups: Integers) -> Array:
    """The metric of each resample, (R,), of whole groups, (n,), 0 to G-1, drawn with replacement; equal groups, equal draws."""
    count, drawn, generator = len(gold), int(groups.max()) + 1, np.random.default_rng(0)
    resamples, block = resamples_for(count), max(1, BLOCK_CELLS // count)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    return np.concatenate([metric(predicted, gold, resample_weights(drawn, size, generator)[:, groups]) for size in sizes])


def interval(value: float, samples: Array) -> MetricEstimate:
    """A value with the interval of its resamples, (R,); resamples that are not finite are left out."""
    samples = samples[np.isfinite(samples)]
    if not np.isfinite(value) or not len(samples):
        return MetricEstimate(*UNDEFINED)
    return MetricEstimate(float(value), *np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]).tolist())


def examples_needed(count: int, change: float, low: float, high: float) -> int | None:
    """About how many examples put zero outside the interval in 80 % of repetitions, if the true change is of this size.

    n = count * ((z(0.975) + z(0.80)) * standard error / change)², the sample size of a two-sided test at 5 % with a power of 80 %
    (Cohen 1988, chapter 2). Approximated: the standard error is the interval's half-width on the side of zero over z(0.975)
    and falls with the square root of the number, and the change is taken as measured. Rounded up to two digits.
    count: the examples that gave this change and its 95 % interval.
    None if the interval excludes zero already, or the change is about zero. Above MOST the number only says "too many".
    """
    if (change, low, high) == UNDEFINED or abs(change) < LEAST_CHANGE or low > 0 or high < 0:
        return None
    half_width = change - low if change > 0 else high - change  # on the side of zero
    needed = count * (half_width / change * (Z_INTERVAL + Z_POWER) / Z_INTERVAL) ** 2
    unit = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / unit) * unit


def needed_sentence(needed: int | None, count: int, change: float, noun: str = "pairs") -> str:
    """Say how many held-out examples would settle the change, "" for None."""
    if needed is None:
        return ""
    number = "More than a million" if needed > MOST else f"About {needed:,}"
    size = f"{'gain' if change > 0 else 'loss'} of this size"
    return f"{number} held-out {noun} would show a {size} in 4 of 5 runs; this run has {count:,}."
