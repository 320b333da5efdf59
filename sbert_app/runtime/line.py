"""First come, first served: heavy work is done a few jobs at a time, and everyone who waits knows their place."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sbert_app.errors import UserError
from sbert_app.runtime.stop import Stop
from sbert_app.settings import Limits
from sbert_app.wording import plural

LOOK_SECONDS = 0.2  # between two looks at the own place


class Crowd:
    """All heavy jobs that wait or work, in whatever line: bounded in all, by connection and by address."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs: list[Stop] = []
        self._lock = threading.Lock()

    @contextmanager
    def enter(self, job: Stop) -> Iterator[None]:
        """Count a job while it waits and works. Raises UserError where there are too many."""
        with self._lock:
            self._check(job)
            self._jobs.append(job)
        try:
            yield
        finally:
            with self._lock:
                self._jobs.remove(job)

    def _check(self, job: Stop) -> None:
        going = [other for other in self._jobs if not other.is_set()]  # one that was told to end is as good as gone
        if len(self._jobs) >= self._limits.jobs:
            raise UserError(f"Too busy: {len(self._jobs)} jobs are going on or waiting already. Try again in a few minutes.")
        if job.visitor is None:
            return
        if sum(1 for other in going if other.visitor == job.visitor) >= self._limits.jobs_a_visitor:
            raise UserError("Your last job is still going on. Wait for it, or stop it.")
        if (
            job.visitor.address
            and sum(1 for other in going if _address(other) == job.visitor.address) >= self._limits.jobs_an_address
        ):
            raise UserError("Too many jobs from your network are going on or waiting already. Try again in a few minutes.")


class Line:
    """One kind of heavy work, `places` of them at a time."""

    def __init__(self, places: int, crowd: Crowd, seconds: float) -> None:
        """seconds: what one job may take once it is served."""
        self._places, self._crowd, self._seconds = places, crowd, seconds
        self._tickets: list[Stop] = []
        self._moved = threading.Condition()

    @contextmanager
    def join(self, job: Stop) -> Iterator[Iterator[int]]:
        """Take the last place; gives the number of jobs before this one until it is served or stopped. Work inside the block.

        Raises UserError where too many wait, and at the end where the job took longer than it may.
        """
        with self._crowd.enter(job):
            with self._moved:
                self._tickets.append(job)
            try:
                yield self._wait(job)
            finally:
                with self._moved:
                    self._tickets.remove(job)
                    self._moved.notify_all()
        if job.overdue:
            raise UserError(f"Stopped after {self._seconds / 60:.0f} minutes, the limit here. Bring fewer rows.")

    def _wait(self, job: Stop) -> Iterator[int]:
        while (before := self._before(job)) > 0 and not job.is_set():
            yield before
            with self._moved:
                self._moved.wait(LOOK_SECONDS)
        job.give(self._seconds)

    def _before(self, job: Stop) -> int:
        with self._moved:
            return self._tickets.index(job) - self._places + 1


def place_in_line(before: int, work: str) -> str:
    """Such as "Waiting for your turn: 2 jobs are before yours"."""
    return f"Waiting for your turn: {before} {plural(before, f'{work} is', f'{work}s are')} before yours"


def _address(job: Stop) -> str:
    return job.visitor.address if job.visitor else ""
