"""Items per second, measured in turns: the median, the spread of the turns, and a confidence interval of the median."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

RESAMPLES = 2_000
LEAST_TURNS = 4  # fewer give no confidence interval


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
        low, high = np.percentile(medians, [2.5, 97.5])
        return float(low), float(high)

    @property
    def _rates(self) -> np.ndarray:
        return np.array([turn.rate for turn in self.turns])

    @property
    def _lengths(self) -> np.ndarray:
        return np.array([turn.seconds for turn in self.turns])
