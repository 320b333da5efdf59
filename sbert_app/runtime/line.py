"""The stop signal of one run of a job; lines: heavy jobs run a few at a time, visitors take turns, freed memory is given back."""

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from sbert_app.errors import EndedEarlyError, UserError
from sbert_app.runtime.visitors import Turns, Visitor
from sbert_app.settings import Limits
from sbert_app.wording import plural, spoken

POLL_SECONDS = 0.2  # between checks of a waiting job's place
STOPPED = "The job was stopped: the app is shutting down, or another request has replaced it. Send it again."


class StoppedError(Exception):
    """A run was ended between two of its steps. The line that it is in turns this into a sentence."""


class Stop:
    """Passed to a job, which checks `is_set` or calls `tick` between its steps."""

    def __init__(self, visitor: Visitor | None = None, left: Callable[[], bool] = lambda: False) -> None:
        """left: whether the client that waits for the run has left."""
        self.visitor = visitor
        self.revoked = False  # nothing of this run may be stored
        self._left = left
        self._requested = threading.Event()
        self._deadline: float | None = None
        self._seconds = 0.0

    def set(self) -> None:
        """End early. Partial results may be stored."""
        self._requested.set()

    def revoke(self) -> None:
        """End and store nothing: another run or another corpus has replaced this one."""
        self.revoked = True
        self._requested.set()

    def limit(self, seconds: float) -> None:
        """End the run when this many seconds have passed from now."""
        self._deadline, self._seconds = time.monotonic() + seconds, seconds

    @property
    def overdue(self) -> bool:
        """Whether the time limit has passed."""
        return self._deadline is not None and time.monotonic() > self._deadline

    @property
    def reason(self) -> str:
        """Why a run that is set ended, as a sentence for the client that waits for it."""
        return f"Stopped after {spoken(self._seconds)}, the limit here. Use fewer rows." if self.overdue else STOPPED

    def is_set(self) -> bool:
        return self._requested.is_set() or self.overdue or self._left()

    def tick(self) -> None:
        """Raise StoppedError if the run is to end."""
        if self.is_set():
            raise StoppedError


class ActiveJobs:
    """The heavy jobs that wait or run, over all lines. Limits them in total, by connection and by address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: list[Stop] = []
        self._closed = False
        self._lock = threading.Lock()

    @contextmanager
    def enter(self, job: Stop) -> Iterator[None]:
        """Count a job while it waits and runs. Raises UserError if there are too many."""
        with self._lock:
            self._check(job)
            self._jobs.append(job)
            if self._closed:
                job.set()
        try:
            yield
        finally:
            with self._lock:
                self._jobs.remove(job)

    @property
    def none(self) -> bool:
        """Whether no job waits or runs."""
        return not self._jobs

    def close(self) -> None:
        """Stop all jobs, because the app ends."""
        with self._lock:
            self._closed = True
            for job in self._jobs:
                job.set()

    def _check(self, job: Stop) -> None:
        visitors = [other.visitor for other in self._jobs if other.visitor and not other.is_set()]  # not of those about to stop
        if len(self._jobs) >= self._limits.jobs:
            raise UserError(f"Too busy: {len(self._jobs)} jobs are already running or waiting. Try again in a few minutes.")
        if job.visitor is None:
            return
        if visitors.count(job.visitor) >= self._limits.jobs_a_visitor:
            raise UserError("Your last job is still running. Wait for it, or stop it.")
        kind, who = job.visitor.key
        if kind and [visitor.key for visitor in visitors].count((kind, who)) >= self._limits.jobs_an_address:
            whose = "of yours" if job.visitor.name else "from your network"
            raise UserError(f"Too many jobs {whose} are already running or waiting. Try again in a few minutes.")


class Line:
    """The waiting line of one kind of heavy job: `places` of them run at a time, each for at most `seconds`."""

    def __init__(self, places: int, active: ActiveJobs, seconds: float) -> None:
        self._places, self._active, self._seconds = places, active, seconds
        self._running: list[Stop] = []
        self._waiting: Turns[Stop] = Turns()
        self._changed = threading.Condition()

    @contextmanager
    def join(self, job: Stop) -> Iterator[Iterator[int]]:
        """Join the line; yields an iterator of the number of jobs ahead, which ends at this job's turn or when it is stopped.

        Work inside the block. Raises UserError if too many jobs wait, and with the reason if the job exceeded its time or a tick
        of its stop ended it.
        """
        with self._active.enter(job):
            with self._changed:
                self._waiting.add(job, job.visitor and job.visitor.key)
            try:
                yield self._wait(job)
            except StoppedError:
                raise EndedEarlyError(job.reason) from None
            finally:
                with self._changed:
                    self._waiting.discard(job)
                    if job in self._running:
                        self._running.remove(job)
                    self._changed.notify_all()
                give_back()
        if job.overdue:
            raise EndedEarlyError(job.reason)

    def counts(self) -> dict[str, int]:
        """How many jobs wait and run."""
        with self._changed:
            return {"running": len(self._running), "waiting": len(self._waiting)}

    def _wait(self, job: Stop) -> Iterator[int]:
        while (before := self._before(job)) > 0 and not job.is_set():
            yield before
            with self._changed:
                self._changed.wait(POLL_SECONDS)
        job.limit(self._seconds)

    def _before(self, job: Stop) -> int:
        """How many jobs must end before it; if none, it runs from now on."""
        with self._changed:
            if job in self._running:
                return 0
            before = self._waiting.order().index(job) + len(self._running) - self._places + 1
            if before <= 0:
                self._waiting.serve(job)
                self._running.append(job)
            return before


def place_in_line(before: int, work: str) -> str:
    """Such as "Waiting for your turn: 2 jobs are before yours"."""
    return f"Waiting for your turn: {before} {plural(before, f'{work} is', f'{work}s are')} before yours"


def give_back(unreachable: bool = False) -> None:
    """Return freed memory, some milliseconds for each 100 MB. Does nothing where the C library is not glibc.

    The C library keeps what a job has freed, for the next one: after corpora, maps and a training that was a third of the process.
    unreachable: look for what only refers to itself first, such as a trained network. That stops all threads for a moment.
    """
    if unreachable:
        gc.collect()
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return lambda _: None
