"""Items a second, measured in turns: the median, how far the turns spread, and how sure the median is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

RESAMPLES = 2_000
LEAST_TURNS = 4  # fewer say nothing about how sure the rate is


@dataclass(frozen=True)
class Turn:
    """One uninterrupted stretch of one system's work."""

    items: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.items / self.seconds


@dataclass(frozen=True)
class Throughput:
    """What a system did in its turns. Rates are items a second; time in which others had the device is not in them."""

    turns: tuple[Turn, ...]

    def __post_init__(self) -> None:
        if not self.turns or any(turn.items < 1 or turn.seconds <= 0 for turn in self.turns):
            raise ValueError("a throughput needs turns in which something was done")

    @property
    def items(self) -> int:
        return sum(turn.items for turn in self.turns)

    @cached_property
    def rate(self) -> float:
        """Median of the turns, each weighing as long as it lasted: one disturbed turn does not move it."""
        return float(_weighted_median(self._rates, self._lengths))

    @property
    def spread(self) -> tuple[float, float]:
        """Slowest and fastest turn."""
        return float(self._rates.min()), float(self._rates.max())

    @cached_property
    def band(self) -> tuple[float, float] | None:
        """95 % interval of the rate: turns drawn again with replacement, 2,000 times. None for too few turns."""
        if len(self.turns) < LEAST_TURNS:
            return None
        drawn = np.random.default_rng(0).integers(0, len(self.turns), (RESAMPLES, len(self.turns)))
        medians = [_weighted_median(self._rates[i], self._lengths[i]) for i in drawn]
        low, high = np.percentile(medians, [2.5, 97.5])
        return float(low), float(high)

    @property
    def _rates(self) -> np.ndarray:
        return np.array([turn.rate for turn in self.turns])

    @property
    def _lengths(self) -> np.ndarray:
        return np.array([turn.seconds for turn in self.turns])


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])
