"""Items per second, measured in turns: their spread and interval, whether they were disturbed, times for any number of items."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

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

    @property
    def rate(self) -> float:
        return self.items / self.seconds

    def __add__(self, other: "Turn") -> "Turn":
        return Turn(self.items + other.items, self.seconds + other.seconds, self.batches + other.batches)


@dataclass(frozen=True)
class Throughput:
    """The turns of a system. Rates are items per second, without the time of waiting for the device."""

    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        if not self.turns or any(turn.items < 1 or turn.seconds <= 0 for turn in self.turns):
            raise ValueError("a throughput needs turns with items and time")

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
    def _rates(self) -> np.ndarray:
        return np.array([turn.rate for turn in self.turns])

    @property
    def _lengths(self) -> np.ndarray:
        return np.array([turn.seconds for turn in self.turns])


def spread(batches: ArrayLike, seconds: ArrayLike) -> float:
    """Batches per second of the fastest turn divided by those of the slowest; 1 for a single turn.

    Batches, not sentences: batches of long sentences hold fewer, so that all batches take about as long.
    batches, seconds: of each turn, (n,). Turns shorter than half the median turn are left out.
    """
    lengths = np.asarray(seconds, dtype=float)
    comparable = lengths >= LEAST_SHARE * np.median(lengths)
    rates = np.asarray(batches, dtype=float)[comparable] / lengths[comparable]
    return float(rates.max() / rates.min())


def turn_spread(throughput: Throughput) -> float:
    """The `spread` of a system's turns but the first, which also computes the batches that the second one fetches."""
    turns = throughput.turns[1:] or throughput.turns
    return spread([turn.batches for turn in turns], [turn.seconds for turn in turns])


def disturbed(*systems: Throughput) -> bool:
    """Whether the turns of one system differ in speed by more than a factor of MOST_SPREAD."""
    return any(turn_spread(system) > MOST_SPREAD for system in systems)


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
