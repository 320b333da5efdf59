"""What each visitor has used of its quotas, in memory: counted where the work is done, and given back where it was not."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from datetime import UTC, datetime

from sbert_app.errors import UserError
from sbert_app.quotas import ANONYMOUS, PERIODS, Count, Counts, Quota, Quotas
from sbert_app.runtime.visitors import ASKING
from sbert_app.wording import plural

ROWS, BYTES, INDEXINGS, TRAINING, DEVICE = (each.name for each in fields(Quota))
MEASURED: ContextVar[str] = ContextVar("measured", default=DEVICE)  # what the seconds on the device count as, here
FOR, A = {"hour": "this hour", "day": "today"}, {"hour": "an hour", "day": "a day"}
WORDS = {  # of one and of several
    ROWS: ("row", "rows"),
    BYTES: ("MB of uploads", "MB of uploads"),
    INDEXINGS: ("indexing", "indexings"),
    TRAINING: ("minute of training", "minutes of training"),
    DEVICE: ("second of computing", "seconds of computing"),
}


class SpentError(UserError):
    """A quota does not suffice. The text says when it is full again."""


class Usage:
    """The quotas of all visitors. Every method is about the visitor for whom this thread works."""

    def __init__(self, quotas: Quotas | None = None, clock: Callable[[], float] = time.time) -> None:
        self._quotas, self._clock = quotas or {}, clock
        self._counts = {period: Counts(seconds, clock) for period, seconds in PERIODS.items()}
        self._lock = threading.RLock()

    @contextmanager
    def take(self, **amounts: float) -> Iterator[dict[str, float]]:
        """Reserve amounts while a job runs, which writes into the yielded dictionary what it has used; only that is counted.

        Raises SpentError, counting nothing, where a quota does not suffice.
        """
        with self._lock:
            for resource, amount in amounts.items():
                self.check(resource, amount)
            counts = [(resource, count) for resource in amounts for _, _, count in self._limits(resource)]
            for resource, count in counts:
                count.amount += amounts[resource]
        used = dict.fromkeys(amounts, 0.0)
        try:
            yield used
        finally:
            with self._lock:
                for resource, count in counts:
                    count.amount -= amounts[resource] - used[resource]

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Count the seconds of the block. Raises SpentError if none are left; a training ends by itself, with its checkpoint."""
        resource = MEASURED.get()
        if resource == DEVICE:
            self.check(DEVICE)
        start = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - start
            with self._lock:
                for _, _, count in self._limits(resource):
                    count.amount += seconds / 60 if resource == TRAINING else seconds

    def spent(self, resource: str) -> str:
        """Why a job has to end, "" if something is left of this."""
        try:
            self.check(resource)
        except SpentError as error:
            return str(error)
        return ""

    def left(self) -> str:
        """What is left now, on one line; "" without quotas."""
        with self._lock:
            rest = {name: [quota - count.amount for _, quota, count in self._limits(name)] for name in WORDS}
        amounts = [in_words(name, max(min(left), 0)) for name, left in rest.items() if left]
        return f"Left for you: {', '.join(amounts)}." if amounts else ""

    def _limits(self, resource: str) -> list[tuple[str, float, Count]]:
        """Each period, the visitor's quota for it, and what is used of that."""
        visitor = ASKING.get().key
        quotas = [(period, self._quotas.get((visitor[0], period), Quota())) for period in PERIODS]
        limits = [(period, getattr(quota, resource)) for period, quota in quotas]
        return [(p, limit, self._counts[p].of((visitor, resource))) for p, limit in limits if limit < float("inf")]

    def check(self, resource: str, needed: float = 0.0) -> None:
        """Raise SpentError if less than this is left, or nothing."""
        with self._lock:
            limits = [(period, quota, count.began, quota - count.amount) for period, quota, count in self._limits(resource)]
        for period, quota, began, left in limits:
            most = in_words(resource, quota)
            if needed > quota or not quota:
                raise SpentError(f"A visitor has {most} {A[period]}, and this needs more. Use less at a time.")
            if left <= 0 or needed > left:
                end, now = (datetime.fromtimestamp(at, UTC) for at in (began + PERIODS[period], self._clock()))
                again = f"{end:%H:%M} UTC{'' if end.date() == now.date() else ' tomorrow'}"
                rest = f"This needs {in_words(resource, needed)}, and {in_words(resource, left)} are left of your"
                shared = " Everybody at your network address shares them." if ASKING.get().key[0] == ANONYMOUS else ""
                used = f"{rest if left > 0 else 'You have used your'} {most} for {FOR[period]}; again from {again}."
                raise SpentError(used + shared)


def in_words(resource: str, value: float) -> str:
    """Such as "20,000 rows" or "1.5 MB of uploads"."""
    value = value / 1e6 if resource == BYTES else value
    number = f"{value:,.1f}" if resource in (BYTES, TRAINING) and value < 10 and value % 1 else f"{value:,.0f}"
    return f"{number} {plural(1 if number == '1' else 2, *WORDS[resource])}"
