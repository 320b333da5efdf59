"""How long an attack goes on: until its time is over or SIGINT or SIGTERM comes. Then it gives its verdict so far."""

import signal
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_interrupted = threading.Event()
_deadline = [float("inf")]


def begin(seconds: float) -> None:
    """The time of the next attack begins. The first signal ends it and all that follow, the second ends the process."""
    _deadline[0] = time.monotonic() + seconds
    for number in (signal.SIGINT, signal.SIGTERM):
        if not _interrupted.is_set():
            signal.signal(number, _interrupt)


def interrupted() -> bool:
    """Whether a signal has come."""
    return _interrupted.is_set()


def left() -> float:
    """Seconds until the end of the attack, 0 after it."""
    return 0.0 if _interrupted.is_set() else max(0.0, _deadline[0] - time.monotonic())


def bounded(items: Iterable[Item]) -> Iterator[Item]:
    """The items while there is time, and at least one of them."""
    for number, item in enumerate(items):
        if number and not left():
            print(f"cut short after {number}: the verdict is of these", flush=True)
            return
        yield item


def _interrupt(number: int, _: object) -> None:
    _interrupted.set()
    signal.signal(number, signal.SIG_DFL)
