"""The data of each visitor, under a secret random id; limited in number, in bytes and in idle time."""

import secrets
import threading
import time
from collections import Counter, OrderedDict

from sbert_app.errors import UserError
from sbert_app.runtime.line import give_back
from sbert_app.runtime.session import Session
from sbert_app.runtime.visitors import Visitor
from sbert_app.settings import Limits

GRACE_SECONDS = 600  # a closed or sleeping tab may come back
LAST_SECONDS = 30  # after a page was closed, in which its last requests end: a later one means that it came back
SMALL_BYTES = 100_000  # of a session that holds no corpus nor other data, only what was chosen on its page
RESUME_SECONDS = 1.5
ARRIVAL_SECONDS = 10  # a click on a page that has just been loaded waits this long for the session of the page
ENDED = "This session has ended. Reload the page, or index the corpus again."


class Sessions:
    """Sessions by id, least recently used first. If memory runs short, the address that holds most loses one first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, visitor: Visitor | None = None) -> Session:
        """Create a session with a random id."""
        session = Session(secrets.token_urlsafe(16), visitor or Visitor(), self._expiry(), self._clean_up)
        with self._lock:
            self._sessions[session.id] = session
        self._clean_up()
        return session

    def resume(self, session_id: str, visitor: Visitor, left_by: str = "", patience: float = RESUME_SECONDS) -> Session | None:
        """The session of a page that was reloaded, for its new connection; None if it has ended or its page is still open.

        left_by: the connection that the page had when it was left, which no copy of the page knows: the end of that connection is
        seen late on a busy machine. patience: seconds to wait for it, if the page could not say.
        """
        deadline = time.monotonic() + patience
        while True:
            with self._lock:
                session = self._living(session_id)
                if session is not None and (session.left is not None or (left_by and left_by == session.visitor.connection)):
                    session.stop_all()
                    session.visitor, session.left = visitor, None
                    session.expires = self._expiry()
                    self._sessions.move_to_end(session_id)
                    return session
            if session is None or time.monotonic() > deadline:
                return None
            time.sleep(0.05)

    def get(self, session_id: str) -> Session:
        """The session of this id. Raises UserError if it has ended or never existed."""
        with self._lock:
            if (session := self._living(session_id)) is None:
                raise UserError(ENDED)
            if session.left is None or time.monotonic() > session.left + LAST_SECONDS:
                session.expires = self._expiry()
            self._sessions.move_to_end(session_id)
            return session

    def arriving(self, connection: str) -> Session:
        """The session of a page that is being opened, as soon as it is there. Raises UserError if it does not come."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while connection and time.monotonic() < deadline:
            with self._lock:
                found = next((session for session in self._sessions.values() if session.visitor.connection == connection), None)
            if found is not None:
                return found
            time.sleep(0.05)
        raise UserError("The page is still opening: try again in a moment.")

    def leave(self, connection: str) -> None:
        """A connection was closed: stop its work now, drop its data after GRACE_SECONDS."""
        if not connection:  # shared by all clients without a connection id
            return
        with self._lock:
            for session in self._sessions.values():
                if session.visitor.connection == connection:
                    session.stop_all()
                    session.left = time.monotonic()
                    session.expires = min(session.expires, session.left + GRACE_SECONDS)

    def sweep(self) -> None:
        """Drop what has expired, though nobody comes; count again what the sessions hold."""
        before = len(self._sessions)
        with self._lock:
            sessions = list(self._sessions.values())
        for session in sessions:
            session.weigh()
        self._clean_up()
        if len(self._sessions) < before:
            give_back()

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def nbytes(self) -> int:
        """What all of them hold in memory, approximately."""
        with self._lock:
            return sum(session.nbytes for session in self._sessions.values())

    def _expiry(self) -> float:
        return time.monotonic() + self._limits.idle_seconds

    def _living(self, session_id: object) -> Session | None:
        session = self._sessions.get(session_id) if isinstance(session_id, str) else None
        return session if session is not None and session.expires >= time.monotonic() else None

    def _clean_up(self) -> None:
        """Drop the sessions that have expired, and those that are too much; called whenever one may have grown."""
        with self._lock:
            now = time.monotonic()
            dropped = [session for session in self._sessions.values() if session.expires < now]
            dropped += self._too_much()
            for session in dropped:
                del self._sessions[session.id]
        for session in dropped:  # without the lock: a connection to a store takes a while to close
            session.close()

    def _too_much(self) -> list[Session]:
        """Of the living sessions that hold a corpus, each least recently used first: those beyond the limits.

        First the oldest of each connection that holds more corpora than one visitor may, then one after the other of the address
        that holds most bytes.
        """
        now, limits = time.monotonic(), self._limits
        held = {session: session.nbytes for session in self._sessions.values() if session.expires >= now}
        held = {session: size for session, size in held.items() if size > SMALL_BYTES}
        counts = Counter(session.visitor.connection for session in held)
        dropped = []
        for session in list(held):
            connection = session.visitor.connection
            if connection and counts[connection] > limits.corpora_a_visitor:
                counts[connection] -= 1
                dropped.append(session)
                del held[session]
        while len(held) > limits.corpora_in_memory or sum(held.values()) > limits.memory_bytes:
            sizes: Counter[str] = Counter()
            for session, size in held.items():
                sizes[session.visitor.address] += size
            address = sizes.most_common(1)[0][0]
            dropped.append(next(session for session in held if session.visitor.address == address))
            del held[dropped[-1]]
        return dropped


class SessionKey:
    """A page's hold on its session, which may end. id: "" until the page arrives. No dataclass: Gradio would copy all fields."""

    def __init__(self, sessions: Sessions, session_id: str = "") -> None:
        self._sessions, self.id = sessions, session_id

    def session(self, connection: str = "") -> Session:
        """The session; of a page that has not arrived yet, by its connection. Raises UserError if it has ended or does not come."""
        return self._sessions.get(self.id) if self.id else self._sessions.arriving(connection)

    def __deepcopy__(self, memo: object) -> "SessionKey":
        return self  # Gradio copies the first value of a State for each page
