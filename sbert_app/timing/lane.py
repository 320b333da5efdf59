"""A lane of the race: one system at work, batch after batch, again from the start when all is done."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from sbert_app.timing.throughput import Throughput, Turn

Device = Callable[[], AbstractContextManager[object]]  # held for one batch; others may have it between two


class Lane:
    """`begin` starts a pass: an iterator that does the work and says how many items each batch held.

    Only time in which the lane holds the device counts; how long it waited for others is kept beside.
    """

    def __init__(self, total: int, begin: Callable[[], Iterator[int]], device: Device) -> None:
        self.total = total  # items in a pass
        self.done = 0  # items of the first pass so far
        self.waited = 0.0
        self.passes: list[float] = []  # seconds of each whole pass
        self.turns: list[Turn] = []
        self._begin, self._device = begin, device
        self._work: Iterator[int] | None = None
        self._turn = self._pass = Turn(0, 0.0)

    @property
    def seconds(self) -> float:
        """Time worked, the turn that is going on included."""
        return sum(turn.seconds for turn in self.turns) + self._turn.seconds

    @property
    def first_pass(self) -> float:
        """Seconds of the first pass, or of what is done of it."""
        return self.passes[0] if self.passes else self._pass.seconds

    @property
    def rate(self) -> float:
        """Items a second so far, 0 before anything is done."""
        items = sum(turn.items for turn in self.turns) + self._turn.items
        return items / self.seconds if self.seconds else 0.0

    def advance(self) -> None:
        """Work off one batch; a finished pass is noted and the next begins with the next call."""
        asked = time.perf_counter()
        with self._device():
            start = time.perf_counter()
            self._work = self._work or self._begin()
            items = next(self._work, None)
            seconds = time.perf_counter() - start
        self.waited += start - asked
        self._turn = Turn(self._turn.items + (items or 0), self._turn.seconds + seconds)
        self._pass = Turn(self._pass.items + (items or 0), self._pass.seconds + seconds)
        if not self.passes:
            self.done = self._pass.items
        if items is None:
            self.passes.append(self._pass.seconds)
            self._work, self._pass = None, Turn(0, 0.0)

    def reset(self) -> None:
        """Forget what was measured so far: it was the warm-up."""
        self._work, self._turn, self._pass = None, Turn(0, 0.0), Turn(0, 0.0)
        self.done, self.waited, self.turns, self.passes = 0, 0.0, [], []

    def turn(self, seconds: float) -> Iterator[None]:
        """Work for about so long, yielding after each batch; then the turn is over and counted."""
        while self._turn.seconds < seconds:
            self.advance()
            yield
        self._count()

    def throughput(self) -> Throughput | None:
        """What was measured; a turn that was cut short counts too. None where nothing was done."""
        self._count()
        return Throughput(tuple(self.turns)) if self.turns else None

    def _count(self) -> None:
        if self._turn.items:
            self.turns.append(self._turn)
            self._turn = Turn(0, 0.0)


def finish(lane: Lane, passes: int = 1) -> Iterator[None]:
    """Work until so many passes are whole, yielding after each batch."""
    while len(lane.passes) < passes:
        lane.advance()
        yield
