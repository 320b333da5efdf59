"""First come, first served: work that must have the machine to itself is done one at a time, and everyone knows their place."""

import threading

from sbert_app.errors import UserError


class Line:
    """`join` gives a ticket, `before` tells how many are served first, `leave` must be called at the end, whatever the end."""

    def __init__(self, most: int, what: str) -> None:
        """most: so many may stand in it; what: the name of the work, in the plural."""
        self._most, self._what = most, what
        self._tickets: list[object] = []
        self._lock = threading.Lock()

    def join(self) -> object:
        """Take the last place. Raises UserError where too many wait."""
        ticket = object()
        with self._lock:
            if len(self._tickets) >= self._most:
                raise UserError(f"{len(self._tickets)} {self._what} are waiting already. Try again in a few minutes.")
            self._tickets.append(ticket)
        return ticket

    def before(self, ticket: object) -> int:
        """How many stand before this ticket; 0 means that it is served."""
        with self._lock:
            return self._tickets.index(ticket)

    def leave(self, ticket: object) -> None:
        with self._lock:
            self._tickets.remove(ticket)
