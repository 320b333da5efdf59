"""The stop signal of one run of a job, and the visitor who started it."""

import threading
import time
from dataclasses import dataclass

# Only the end of the app stops an endpoint's job.
APP_STOPPING = "The job was stopped, because the app is shutting down. Send it again."


@dataclass(frozen=True)
class Visitor:
    """Connection of a browser or client, and its network address. Empty: the user of this machine."""

    connection: str = ""
    address: str = ""


def network_address(forwarded: str, client: str) -> str:
    """The address of a hosted visitor: the last in `X-Forwarded-For`, which a Space's proxy appends, else the client's."""
    return forwarded.rpartition(",")[2].strip() or client


class Stop:
    """Passed to a job, which checks `is_set` between its steps."""

    def __init__(self, visitor: Visitor | None = None) -> None:
        self.visitor = visitor
        self.revoked = False  # nothing of this run may be stored
        self._requested = threading.Event()
        self._deadline: float | None = None

    def set(self) -> None:
        """End early. Partial results may be stored."""
        self._requested.set()

    def revoke(self) -> None:
        """End and store nothing: another run or another corpus has replaced this one."""
        self.revoked = True
        self._requested.set()

    def limit(self, seconds: float) -> None:
        """End the run when this many seconds have passed from now."""
        self._deadline = time.monotonic() + seconds

    @property
    def overdue(self) -> bool:
        """Whether the time limit has passed."""
        return self._deadline is not None and time.monotonic() > self._deadline

    def is_set(self) -> bool:
        return self._requested.is_set() or self.overdue
