"""The stop signal of one run of a job, and the visitor who started it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sbert_app.wording import spoken

STOPPED = "The job was stopped: the app is shutting down, or another request has replaced it. Send it again."


@dataclass(frozen=True)
class Visitor:
    """Connection of a browser or client, and its network address. Empty: the user of this machine."""

    connection: str = ""
    address: str = ""


def network_address(forwarded: str, client: str) -> str:
    """The address of a hosted visitor: the last in `X-Forwarded-For`, which a Space's proxy appends, else the client's."""
    return forwarded.rpartition(",")[2].strip() or client


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
