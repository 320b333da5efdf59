"""Items per second, measured in turns by a lane: their spread and interval, and times for any number of items."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sbert_app.evaluation.metrics import RESAMPLES, interval

LEAST_TURNS = 4  # fewer give no confidence interval

MOST_SPREAD = 2.0  # fastest turn ÷ slowest turn; undisturbed turns stay below 1.9, even of one batch each
LEAST_SHARE = 0.5  # of the median turn's seconds: a shorter turn, such as one cut off at the end, is left out
Device = Callable[[], AbstractContextManager[object]]  # held for one batch, so that others can use it in between
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


NOTHING = Turn(0, 0.0, 0)  # a turn before its first batch


class Lane:
    """One system processes batches, and starts again when it has processed all items. Waiting for the device is timed apart.

    begin: starts a pass, an iterator that yields the number of items per batch.
    settle: waits for batches that were started ahead, so that a turn pays for all that it computes, and returns the seconds in
    which part of the machine had nothing to do.
    """

    def __init__(
        self, total: int, begin: Callable[[], Iterator[int]], device: Device, settle: Callable[[], float] = lambda: 0.0
    ) -> None:
        self.total = total  # items of a pass
        self._begin, self._device, self._settle = begin, device, settle
        self.reset()

    def reset(self) -> None:
        """Discard all measurements so far, as warm-up."""
        self.done = 0  # items of the first pass so far
        self.waited = 0.0
        self.passes: list[float] = []  # seconds of each complete pass
        self.turns: list[Turn] = []
        self._work: Iterator[int] | None = None
        self._turn = self._pass = NOTHING

    @property
    def seconds(self) -> float:
        """Seconds of work, the current turn included."""
        return sum(turn.seconds for turn in self.turns) + self._turn.seconds

    @property
    def first_pass(self) -> float:
        """Seconds of the first pass so far."""
        return self.passes[0] if self.passes else self._pass.seconds

    @property
    def rate(self) -> float:
        """Items per second so far, 0 before the first."""
        items = sum(turn.items for turn in self.turns) + self._turn.items
        return items / self.seconds if self.seconds else 0.0

    def advance(self) -> None:
        """Process one batch, or record a complete pass; the next call begins a new one."""
        queued = time.perf_counter()
        with self._device():
            start = time.perf_counter()
            self._work = self._work or self._begin()
            items = next(self._work, None)
            seconds = time.perf_counter() - start
        self.waited += start - queued
        self._add(Turn(items or 0, seconds, 0 if items is None else 1))
        if not self.passes:
            self.done = self._pass.items
        if items is None:
            self.passes.append(self._pass.seconds)
            self._work, self._pass = None, NOTHING

    def turn(self, seconds: float) -> Iterator[None]:
        """Work for about `seconds`, yielding after each batch; then record the turn."""
        while self._turn.seconds < seconds:
            self.advance()
            yield
        with self._device():
            start = time.perf_counter()
            idle = self._settle()
            self._add(Turn(0, time.perf_counter() - start - idle, 0))
        self._record_turn()

    def throughput(self) -> Throughput | None:
        """The measured throughput, an unfinished turn included; None if nothing was processed."""
        self._record_turn()
        return Throughput(tuple(self.turns)) if self.turns else None

    def _add(self, work: Turn) -> None:
        self._turn, self._pass = self._turn + work, self._pass + work

    def _record_turn(self) -> None:
        if self._turn.items:
            self.turns.append(self._turn)
            self._turn = NOTHING


def finish(lane: Lane, passes: int = 1) -> Iterator[None]:
    """Work until `passes` passes are complete, yielding after each batch."""
    while len(lane.passes) < passes:
        lane.advance()
        yield


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
