"""One of the two systems of a race: it works in turns, batch by batch, and its seconds of work are measured."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from sbert_app.timing.extrapolation import Throughput, Turn

Device = Callable[[], AbstractContextManager[object]]  # held for one batch, so that others can use it in between
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
        return (sum(turn.items for turn in self.turns) + self._turn.items) / self.seconds if self.seconds else 0.0

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
