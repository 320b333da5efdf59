"""From measured turns to rates with their interval, and to the extrapolated seconds of any number of items."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sbert_app.evaluation.metrics import RESAMPLES, interval

LEAST_TURNS = 4  # fewer give no confidence interval
MOST_SPREAD = 2.0  # fastest turn ÷ slowest turn; undisturbed turns stay below 1.9, even of one batch each
LEAST_SHARE = 0.5  # of the median turn's seconds: a shorter turn, such as one cut off at the end, is left out
DISTURBED = "Something else used the processor during this race: close other programs and race again."


@dataclass(frozen=True)
class Turn:
    """One uninterrupted period of work of one system."""

    items: int
    seconds: float
    batches: int = 1

    def __add__(self, other: "Turn") -> "Turn":
        return Turn(self.items + other.items, self.seconds + other.seconds, self.batches + other.batches)


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


@dataclass(frozen=True)
class Throughput:
    """The turns of a system. Rates are items per second, without the time of waiting for the device."""

    turns: tuple[Turn, ...]

    @property
    def items(self) -> int:
        return sum(turn.items for turn in self.turns)

    @cached_property
    def rate(self) -> float:
        """Median of the turns, weighted by their seconds: robust against a disturbed turn."""
        return float(np.quantile(self._rates, 0.5, weights=self._lengths, method="inverted_cdf"))

    @property
    def spread(self) -> tuple[float, float]:
        """Slowest and fastest turn."""
        return float(self._rates.min()), float(self._rates.max())

    @cached_property
    def band(self) -> tuple[float, float] | None:
        """95 % bootstrap interval of the rate (2,000 resamples of the turns); None for too few turns."""
        if len(self.turns) < LEAST_TURNS:
            return None
        resamples = np.random.default_rng(0).integers(0, len(self.turns), (RESAMPLES, len(self.turns)))
        medians = np.quantile(self._rates[resamples], 0.5, axis=1, weights=self._lengths[resamples], method="inverted_cdf")
        estimate = interval(self.rate, medians)
        return estimate.low, estimate.high

    @property
    def unevenness(self) -> float:
        """Batches per second of the fastest turn divided by those of the slowest; 1 for a single turn.

        Batches, not sentences: batches of long sentences hold fewer, so that all batches take about as long. Left out are turns
        shorter than half the median turn, and the first one, which also computes the batches that the second one fetches.
        """
        turns = self.turns[1:] or self.turns
        least = LEAST_SHARE * np.median([turn.seconds for turn in turns])
        rates = [turn.batches / turn.seconds for turn in turns if turn.seconds >= least]
        return max(rates) / min(rates)

    def seconds_for(self, items: float) -> Extrapolation:
        """Seconds for this number of items at the measured rate."""
        fast_and_slow = () if self.band is None else (items / self.band[1], items / self.band[0])
        return Extrapolation(items / self.rate, *fast_and_slow)

    @property
    def _rates(self) -> np.ndarray:
        return np.array([turn.items / turn.seconds for turn in self.turns])

    @property
    def _lengths(self) -> np.ndarray:
        return np.array([turn.seconds for turn in self.turns])


def pairs_of(sentences: int) -> int:
    """Pairs among n sentences: n(n-1)/2. 10,000 sentences are 49,995,000 pairs."""
    return sentences * (sentences - 1) // 2


def power_law(sizes: list[int], seconds: list[float], size: float) -> float:
    """Seconds at another size: log-log interpolation between measured points, constant below the first.

    Beyond the last: regression line with slope in 0..1, as an index is never slower than reading all rows nor faster for more.
    """
    if len(sizes) < 2 or size <= sizes[-1]:
        return float(np.exp(np.interp(np.log(size), np.log(sizes), np.log(seconds))))
    slope = float(np.clip(np.polyfit(np.log(sizes), np.log(seconds), 1)[0], 0, 1))
    return float(seconds[-1] * (size / sizes[-1]) ** slope)
