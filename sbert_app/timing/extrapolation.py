"""Extrapolate measured rates to seconds for any number of sentences, with a confidence band."""

from dataclasses import dataclass

import numpy as np

from sbert_app.timing.throughput import Throughput


def pairs_of(sentences: int) -> int:
    """Pairs among n sentences: n(n-1)/2. 10,000 sentences are 49,995,000 pairs."""
    return sentences * (sentences - 1) // 2


@dataclass(frozen=True)
class Extrapolation:
    """Extrapolated seconds. low..high: 95 % band from the spread of the measured turns; None if there are too few."""

    seconds: float
    low: float | None = None
    high: float | None = None

    def __add__(self, other: "Extrapolation") -> "Extrapolation":
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Extrapolation(self.seconds + other.seconds, low, high)


def extrapolate(items: float, throughput: Throughput) -> Extrapolation:
    """Seconds for `items` at a measured rate."""
    band = throughput.band
    if band is None:
        return Extrapolation(items / throughput.rate)
    return Extrapolation(items / throughput.rate, items / band[1], items / band[0])


def power_law(sizes: list[int], seconds: list[float], size: float) -> float:
    """Seconds at another size: log-log interpolation between measured points, constant below the first.

    Beyond the last: regression line with slope in 0..1, as an index is never slower than reading all rows nor faster for more.
    """
    if len(sizes) < 2 or size <= sizes[-1]:
        return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(seconds))))
    slope = float(np.clip(np.polyfit(np.log(sizes), np.log(seconds), 1)[0], 0, 1))
    return float(seconds[-1] * (size / sizes[-1]) ** slope)
