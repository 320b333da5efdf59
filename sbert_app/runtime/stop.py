"""One run of a job as its visitor sees it: it can be asked to end early, or be cut off from its session for good."""

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Visitor:
    """Who asks: the browser's (or client's) connection and the network address behind it. Empty: the person at this machine."""

    connection: str = ""
    address: str = ""


class Stop:
    """Given to a job when it begins. The job looks at `is_set` between two steps."""

    def __init__(self, visitor: Visitor | None = None) -> None:
        self.visitor = visitor
        self.revoked = False  # nothing of this run may be kept any more
        self._asked = threading.Event()
        self._deadline: float | None = None

    def set(self) -> None:
        """End early. What was reached may be kept."""
        self._asked.set()

    def revoke(self) -> None:
        """End, and keep nothing: another run, or another corpus, has taken its place."""
        self.revoked = True
        self._asked.set()

    def give(self, seconds: float) -> None:
        """From now on the run has so long."""
        self._deadline = time.monotonic() + seconds

    @property
    def overdue(self) -> bool:
        """Whether the time that was given is over."""
        return self._deadline is not None and time.monotonic() > self._deadline

    def is_set(self) -> bool:
        return self._asked.is_set() or self.overdue
