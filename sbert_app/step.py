"""A step of a long job, the same for every job: what its caller shows while it waits, and in what each is computed."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sbert_app.wording import duration

REFRESH_SECONDS = 0.2  # between two steps that are shown
RATED = 2_000  # items by which a rate is known, where they are no hundredth of all

Result = TypeVar("Result")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Step(Generic[Result]):
    """Where a job is."""

    stage: str
    done: int = 0  # items
    total: int = 0  # items, 0 where nothing is counted
    seconds: float = 0.0  # of work so far
    skipped: int = 0  # of `done`, without work
    result: Result | None = None  # what the job has made, at its last step or so far
    notes: tuple[str, ...] = ()  # facts beside the count, as they are shown
    stopped: bool = False  # by its visitor
    details: dict[str, Any] = field(default_factory=dict)  # JSON for the caller of a streaming endpoint
    unit: str = ""  # what is counted

    @property
    def rate(self) -> float:
        """Items a second, of those that took work; 0.0 if unknown."""
        return (self.done - self.skipped) / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> str:
        """The time to the end at this rate, such as "12 s left"; "" while too little is done to know the rate."""
        known = self.rate > 0 and self.done - self.skipped >= min(self.total / 100, RATED)
        return f"{duration((self.total - self.done) / self.rate)} left" if known and self.done < self.total else ""


def throttled(steps: Iterable[Item], always: Callable[[Item], bool], seconds: float) -> Iterator[Item]:
    """Yield the first step, then one every `seconds`, and each step for which `always` is true."""
    shown = 0.0
    for step in steps:
        if always(step) or time.monotonic() - shown > seconds:
            shown = time.monotonic()
            yield step


def each_within(context: Callable[[], AbstractContextManager[object]], steps: Iterator[Item]) -> Generator[Item, None, Any]:
    """Yield the steps, each computed in a context of its own, in whatever thread. Returns what a generator returns."""
    while True:
        with context():
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
        yield step
