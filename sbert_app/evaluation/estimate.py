"""Estimate a metric with its 95 % interval by bootstrap, and how many examples would settle a change that it leaves open."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.metrics import Metric
from sbert_app.vectors import Array

RESAMPLES = 2_000
CONFIDENCE = 0.95
BLOCK_CELLS = 1_000_000  # resampled rows measured at a time: bounds memory
MOST_CELLS = 10_000_000  # resampled rows in all: bounds time, so that many rows get fewer resamples
LEAST_RESAMPLES = 200
LEAST_CHANGE = 0.0005  # less is shown as 0.0: no number of examples settles nothing
MOST = 1_000_000
Z_INTERVAL, Z_POWER = 1.96, 0.84  # normal quantiles of 97.5 % and 80 %
UNDEFINED = (-1.0, -1.0, 1.0)


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


def estimate(metric: Metric, predicted: Array, gold: Array, seed: int = 0) -> MetricEstimate:
    """The metric of n rows and its interval. predicted, gold: (n,). -1, from -1 to 1, if the metric is undefined."""
    samples = resampled(metric, predicted, gold, np.arange(len(gold)), seed)
    return interval(float(metric(predicted, gold, np.ones((1, len(gold))))[0]), samples)


def resampled(metric: Metric, predicted: Array, gold: Array, groups: NDArray[np.int64], seed: int = 0) -> Array:
    """The metric of each resample, (R,): whole groups of rows are drawn with replacement. The same draws for equal groups and seed.

    groups: (n,), 0 to G-1, the group of each row.
    """
    count, drawn, generator = len(gold), int(groups.max()) + 1, np.random.default_rng(seed)
    resamples, block = resamples_for(count), max(1, BLOCK_CELLS // count)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    return np.concatenate([metric(predicted, gold, resample_weights(drawn, size, generator)[:, groups]) for size in sizes])


def interval(value: float, samples: Array) -> MetricEstimate:
    """A value with the interval of its resamples, (R,); resamples that are not finite are left out."""
    samples = samples[np.isfinite(samples)]
    if not np.isfinite(value) or not len(samples):
        return MetricEstimate(-1.0, -1.0, 1.0)
    low, high = np.quantile(samples, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return MetricEstimate(float(value), float(low), float(high))


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
