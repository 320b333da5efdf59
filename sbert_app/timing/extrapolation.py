"""From rates that were measured to seconds for any number of sentences, with the band that the sample allows."""

from dataclasses import dataclass

import numpy as np

from sbert_app.timing.throughput import Throughput


def pairs_of(sentences: int) -> int:
    """Pairs among n sentences: n(n-1)/2. 10,000 sentences are 49,995,000 pairs."""
    return sentences * (sentences - 1) // 2


@dataclass(frozen=True)
class Estimate:
    """Extrapolated seconds. low..high: 95 % band from the spread of the measured turns; None for too few turns."""

    seconds: float
    low: float | None = None
    high: float | None = None

    def __add__(self, other: "Estimate") -> "Estimate":
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return Estimate(self.seconds + other.seconds, low, high)


def estimate(items: float, throughput: Throughput) -> Estimate:
    """Seconds for so many items at a measured rate."""
    band = throughput.band
    if band is None:
        return Estimate(items / throughput.rate)
    return Estimate(items / throughput.rate, items / band[1], items / band[0])


def power_law(sizes: list[int], seconds: list[float], size: float) -> float:
    """Seconds at another size, on log-log paper: between measured points along their line, below the first as the first.

    Beyond the last along the straight line through all. Its slope is kept within 0..1: an index can never be slower than
    reading every row, nor faster for more of them.
    """
    if len(sizes) < 2 or size <= sizes[-1]:
        return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(seconds))))
    slope = float(np.clip(np.polyfit(np.log(sizes), np.log(seconds), 1)[0], 0, 1))
    return float(seconds[-1] * (size / sizes[-1]) ** slope)
