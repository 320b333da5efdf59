"""The data of each visitor, under a secret random id; limited in number, in bytes and in idle time."""

import secrets
import threading
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.runtime.stop import Stop, Visitor
from sbert_app.settings import Limits

GRACE_SECONDS = 600  # a closed or sleeping tab may come back
RESUME_SECONDS = 1.5

Value = TypeVar("Value")


@dataclass
class Session:
    """One visitor, or one corpus of an API client: values by type, and runs of jobs by name, without fields for single features.

    A value whose class has `of_corpus = True` belongs to the corpus that was open when its job began, and is dropped with it.
    """

    id: str
    visitor: Visitor
    expires: float
    left: bool = False  # its page was closed, and may come back
    _values: dict[type, Any] = field(default_factory=dict)
    _jobs: dict[str, Stop] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, job: str) -> Stop:
        """Start a run of this job. Its previous run is revoked: it ends and stores nothing."""
        stop = Stop(self.visitor)
        with self._lock:
            if job in self._jobs:
                self._jobs[job].revoke()
            self._jobs[job] = stop
        return stop

    def stop(self, job: str) -> None:
        """Ask the run of this job to end early."""
        with self._lock:
            if job in self._jobs:
                self._jobs[job].set()

    def stop_all(self) -> None:
        """Ask every run to end early."""
        with self._lock:
            for stop in self._jobs.values():
                stop.set()

    def put(self, value: object, stop: Stop | None = None) -> bool:
        """Store a value, replacing the last of its type. Returns False, storing nothing, if its run was revoked."""
        with self._lock:
            if stop is not None and stop.revoked:
                return False
            self._values[type(value)] = value
            return True

    def put_first(self, value: object) -> bool:
        """Store a value, unless one of its type is stored: then returns False."""
        with self._lock:
            return self._values.setdefault(type(value), value) is value

    def swap(self, before: object, after: object) -> bool:
        """Replace `before` by `after`. Returns False, storing nothing, if `before` is not the stored value any more."""
        with self._lock:
            if self._values.get(type(before)) is not before:
                return False
            self._values[type(after)] = after
            return True

    def get(self, kind: type[Value]) -> Value | None:
        """The value of this type, or None."""
        with self._lock:
            return self._values.get(kind)

    def drop(self, kind: type) -> None:
        with self._lock:
            self._values.pop(kind, None)

    def open(self, corpus: IndexedCorpus, stop: Stop | None = None) -> bool:
        """Open a corpus: revoke all runs, drop the last corpus's values. Returns False, changing nothing, if `stop` is revoked."""
        with self._lock:
            if stop is not None and stop.revoked:
                return False
            self.revoke_all()
            self._values = {kind: value for kind, value in self._values.items() if not getattr(kind, "of_corpus", False)}
            self._values[IndexedCorpus] = corpus
            return True

    def revoke_all(self) -> None:
        """End every run; they store nothing."""
        with self._lock:
            for stop in self._jobs.values():
                stop.revoke()
            self._jobs.clear()

    @property
    def nbytes(self) -> int:
        """Approximate bytes that the values hold in memory."""
        with self._lock:
            return sum(getattr(value, "nbytes", 0) for value in self._values.values())


class Sessions:
    """Sessions by id, least recently used first. If memory runs short, the address that holds most loses one first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, visitor: Visitor | None = None) -> Session:
        """Create a session with a random id."""
        session = Session(secrets.token_urlsafe(16), visitor or Visitor(), self._expiry())
        with self._lock:
            self._sessions[session.id] = session
            self._clean_up()
        return session

    def resume(self, session_id: str, visitor: Visitor, patience: float = RESUME_SECONDS) -> Session | None:
        """The session of a page that was reloaded, for its new connection; None if it has ended or its page is still open.

        patience: seconds to wait for the end of the old connection, which is noticed a moment after the reload.
        """
        deadline = time.monotonic() + patience
        while True:
            with self._lock:
                self._clean_up()
                session = self._sessions.get(session_id) if isinstance(session_id, str) else None
                if session is not None and session.left:
                    session.visitor, session.left = visitor, False
                    session.expires = self._expiry()
                    self._sessions.move_to_end(session_id)
                    return session
            if session is None or time.monotonic() > deadline:
                return None
            time.sleep(0.05)

    def get(self, session_id: str) -> Session:
        """The session of this id. Raises UserError if it has ended or never existed."""
        with self._lock:
            self._clean_up()
            session = self._sessions.get(session_id) if isinstance(session_id, str) else None
            if session is None:
                raise UserError("This session has ended. Reload the page, or index the corpus again.")
            session.expires = self._expiry()
            self._sessions.move_to_end(session_id)
            return session

    def corpus(self, session_id: str) -> IndexedCorpus:
        """The corpus that the visitor opened. Raises UserError if there is none."""
        corpus = self.get(session_id).get(IndexedCorpus)
        if corpus is None:
            raise UserError("There is no corpus yet. Choose an example or upload a file under “Corpus” at the top of the page.")
        return corpus

    def leave(self, connection: str) -> None:
        """A connection was closed: stop its work now, drop its data after GRACE_SECONDS."""
        if not connection:  # shared by all clients without a connection id
            return
        with self._lock:
            for session in self._sessions.values():
                if session.visitor.connection == connection:
                    session.stop_all()
                    session.left = True
                    session.expires = min(session.expires, time.monotonic() + GRACE_SECONDS)

    def close(self) -> None:
        """Stop all work, because the app ends."""
        with self._lock:
            for session in self._sessions.values():
                session.stop_all()

    def __len__(self) -> int:
        return len(self._sessions)

    def _expiry(self) -> float:
        return time.monotonic() + self._limits.idle_seconds

    def _clean_up(self) -> None:
        now = time.monotonic()
        for session in [session for session in self._sessions.values() if session.expires < now]:
            self._delete(session)
        held = {key: size for key, session in self._sessions.items() if (size := session.nbytes)}  # least recently used first
        self._fit_visitors(held)
        while len(held) > self._limits.corpora_in_memory or sum(held.values()) > self._limits.memory_bytes:
            self._evict(held, self._largest_holder(held))

    def _fit_visitors(self, held: dict[str, int]) -> None:
        """Evict the oldest sessions of each connection that holds more corpora than one visitor may."""
        counts = Counter(self._sessions[key].visitor.connection for key in held)
        for key in list(held):
            connection = self._sessions[key].visitor.connection
            if connection and counts[connection] > self._limits.corpora_a_visitor:
                counts[connection] -= 1
                self._evict(held, key)

    def _largest_holder(self, held: dict[str, int]) -> str:
        """The least recently used session of the address that holds most bytes."""
        sizes: Counter[str] = Counter()
        for key, size in held.items():
            sizes[self._sessions[key].visitor.address] += size
        address = sizes.most_common(1)[0][0]
        return next(key for key in held if self._sessions[key].visitor.address == address)

    def _evict(self, held: dict[str, int], key: str) -> None:
        del held[key]
        self._delete(self._sessions[key])

    def _delete(self, session: Session) -> None:
        session.revoke_all()
        del self._sessions[session.id]
