"""Metrics of R bootstrap resamples at once, each given as the count of every row, so that rows are sorted only once.

predicted, gold: (n,); weights: (R, n) counts -> (R,) values.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Array

Metric = Callable[[Array, Array, Array], Array]


def pearson(predicted: Array, gold: Array, weights: Array) -> Array:
    """Linear correlation, -1..1; nan where one side is constant. predicted and gold may be (R, n) too."""
    total = weights.sum(1, keepdims=True)
    x = predicted - (weights * predicted).sum(1, keepdims=True) / total
    y = gold - (weights * gold).sum(1, keepdims=True) / total
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: Array = (weights * x * y).sum(1) / np.sqrt((weights * x * x).sum(1) * (weights * y * y).sum(1))
    return correlation


def spearman(predicted: Array, gold: Array, weights: Array) -> Array:
    """Rank correlation, -1..1, ties share their mean rank. The paper's measure for STS."""
    return pearson(_ranks(predicted, weights), _ranks(gold, weights), weights)


def average_precision(predicted: Array, gold: Array, weights: Array) -> Array:
    """Area under the precision-recall curve, 0..1. gold: 1 for positive rows, else 0."""
    hits, rows = _cumulated(predicted, gold, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(rows > 0, hits / rows, 0.0)
        area: Array = (precision * np.diff(hits, axis=1, prepend=0.0)).sum(1) / hits[:, -1]
    return area


def best_accuracy(predicted: Array, gold: Array, weights: Array) -> Array:
    """Accuracy at the threshold that is best for these rows, 0..1."""
    hits, rows = _cumulated(predicted, gold, weights)
    correct = 2 * hits - rows + (rows[:, -1:] - hits[:, -1:])  # positives above the threshold, negatives below it
    negatives = rows[:, -1] - hits[:, -1]
    accuracy: Array = np.maximum(correct.max(1), negatives) / rows[:, -1]
    return accuracy


def best_f1(predicted: Array, gold: Array, weights: Array) -> Array:
    """Harmonic mean of precision and recall at the threshold that is best for these rows, 0..1."""
    hits, rows = _cumulated(predicted, gold, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        f1: Array = (2 * hits / (rows + hits[:, -1:])).max(1)
    return f1


def best_cut(predicted: Array, gold: Array) -> tuple[float, float]:
    """Return the two neighbouring scores between which the threshold of `best_accuracy` lies: (below it, lowest at or above it).

    (highest score, inf) if it is best to call no row positive, (-inf, lowest score) if all; of equally good ones, the highest.
    """
    distinct = np.unique(predicted)[::-1]
    hits, rows = _cumulated(predicted, gold, np.ones((1, len(gold))))
    correct = np.concatenate([[0.0], (2 * hits - rows)[0]])  # against calling no row positive
    best = int(correct.argmax())
    scores = [np.inf, *distinct.tolist(), -np.inf]
    return scores[best + 1], scores[best]


def share_positive(predicted: Array, gold: Array, weights: Array) -> Array:
    """Share of rows whose predicted margin is above zero, 0..1: triplet accuracy."""
    share: Array = (weights * (predicted > 0)).sum(1) / weights.sum(1)
    return share


def mean(predicted: Array, gold: Array, weights: Array) -> Array:
    """Mean of the rows' values, such as of a measure of each query."""
    average: Array = (weights * predicted).sum(1) / weights.sum(1)
    return average


def share_equal(predicted: Array, gold: Array, weights: Array) -> Array:
    """Share of rows whose predicted class is theirs, 0..1."""
    return share_positive((predicted == gold).astype(np.float64), gold, weights)


def v_measure(predicted: Array, gold: Array, weights: Array) -> Array:
    """How far clusters and classes agree, 0..1: the harmonic mean of homogeneity and completeness (Rosenberg & Hirschberg 2007).

    predicted: each row's cluster, gold: its class, as numbers.
    """
    clusters, classes = (np.unique(column, return_inverse=True)[1] for column in (predicted, gold))
    apart = _entropy(clusters, weights) + _entropy(classes, weights)
    with np.errstate(invalid="ignore"):
        agreement: Array = np.where(apart > 0, 2 - 2 * _entropy(classes * (clusters.max() + 1) + clusters, weights) / apart, 1.0)
    return agreement


def _entropy(labels: NDArray[np.int64], weights: Array) -> Array:
    """The entropy of the labels in each resample, in nats. (n,), (R, n) -> (R,)."""
    _, _, order, starts = _groups(labels.astype(np.float64))
    shares = np.add.reduceat(weights[:, order], starts, axis=1) / weights.sum(1, keepdims=True)
    entropy: Array = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(1)
    return entropy


def _ranks(values: Array, weights: Array) -> Array:
    """Rank of each row in each resample, ties sharing their mean. (n,), (R, n) -> (R, n)."""
    _, group, order, starts = _groups(values)
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(counts, axis=1) - (counts - 1) / 2)[:, group]


def _cumulated(predicted: Array, gold: Array, weights: Array) -> tuple[Array, Array]:
    """Return the numbers of (positives, rows) at or above each distinct score, highest first. Each (R, groups)."""
    _, _, order, starts = _groups(-predicted)
    sorted_weights = weights[:, order]
    hits = np.add.reduceat(sorted_weights * gold[order], starts, axis=1)
    rows = np.add.reduceat(sorted_weights, starts, axis=1)
    return np.cumsum(hits, axis=1), np.cumsum(rows, axis=1)


def _groups(values: Array) -> tuple[Array, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (distinct values ascending, each row's group, order of rows by value, start of each group in that order)."""
    unique, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return unique, group, np.argsort(values, kind="stable"), np.concatenate([[0], np.cumsum(counts)[:-1]])
