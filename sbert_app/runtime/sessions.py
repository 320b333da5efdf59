"""What belongs to one visitor, found only by an unguessable id. Bounded in number, in bytes and in idle time."""

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

LEFT_SECONDS = 600  # a closed or sleeping tab may come back

Value = TypeVar("Value")


@dataclass
class Session:
    """One visitor, or one corpus of an API client: values by their type, and jobs by their name. Knows no feature.

    A value whose class has `of_corpus = True` belongs to the corpus that was open when its job began: it goes with that corpus.
    """

    id: str
    visitor: Visitor
    expires: float
    _values: dict[type, Any] = field(default_factory=dict)
    _jobs: dict[str, Stop] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def begin(self, job: str) -> Stop:
        """Start a run of this job. The run before it ends, and stores nothing any more."""
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
        """Keep a value in place of the last one of its type. False, and nothing kept, where its run was revoked."""
        with self._lock:
            if stop is not None and stop.revoked:
                return False
            self._values[type(value)] = value
            return True

    def swap(self, before: object, after: object) -> bool:
        """Put `after` in the place of `before`. False, and nothing kept, where another value is there meanwhile."""
        with self._lock:
            if self._values.get(type(before)) is not before:
                return False
            self._values[type(after)] = after
            return True

    def get(self, kind: type[Value]) -> Value | None:
        """The value of this type, None where there is none."""
        with self._lock:
            return self._values.get(kind)

    def drop(self, kind: type) -> None:
        """Forget the value of this type."""
        with self._lock:
            self._values.pop(kind, None)

    def open(self, corpus: IndexedCorpus, stop: Stop | None = None) -> bool:
        """Work with this corpus from now on: every run is revoked, every value of the corpus before is dropped.

        False, and nothing changed, where the run that made the corpus was revoked itself.
        """
        with self._lock:
            if stop is not None and stop.revoked:
                return False
            self.revoke_all()
            self._values = {kind: value for kind, value in self._values.items() if not getattr(kind, "of_corpus", False)}
            self._values[IndexedCorpus] = corpus
            return True

    def revoke_all(self) -> None:
        """End every run for good."""
        with self._lock:
            for stop in self._jobs.values():
                stop.revoke()
            self._jobs.clear()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that its values hold, about."""
        with self._lock:
            return sum(getattr(value, "nbytes", 0) for value in self._values.values())


class Sessions:
    """Sessions by id, least recently used first. What does not fit is forgotten, those of whoever holds most first."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, visitor: Visitor | None = None) -> Session:
        """A new session with a random id."""
        session = Session(secrets.token_urlsafe(16), visitor or Visitor(), self._expiry())
        with self._lock:
            self._sessions[session.id] = session
            self._forget()
        return session

    def get(self, session_id: str) -> Session:
        """The session of this id. Raises UserError where it has ended or never was."""
        with self._lock:
            self._forget()
            session = self._sessions.get(session_id) if isinstance(session_id, str) else None
            if session is None:
                raise UserError("This session has ended. Reload the page, or index the corpus again.")
            session.expires = self._expiry()
            self._sessions.move_to_end(session_id)
            return session

    def corpus(self, session_id: str) -> IndexedCorpus:
        """The corpus that the visitor opened. Raises UserError where there is none."""
        corpus = self.get(session_id).get(IndexedCorpus)
        if corpus is None:
            raise UserError("There is no corpus yet. Upload one in the Search tab, or pick an example.")
        return corpus

    def leave(self, connection: str) -> None:
        """The browser or client closed this connection: stop its work now, forget its data a little later."""
        if not connection:  # clients without one are many: nobody's leaving is theirs
            return
        with self._lock:
            for session in self._sessions.values():
                if session.visitor.connection == connection:
                    session.stop_all()
                    session.expires = min(session.expires, time.monotonic() + LEFT_SECONDS)

    def close(self) -> None:
        """The app ends: so does everyone's work."""
        with self._lock:
            for session in self._sessions.values():
                session.stop_all()

    def __len__(self) -> int:
        return len(self._sessions)

    def _expiry(self) -> float:
        return time.monotonic() + self._limits.idle_seconds

    def _forget(self) -> None:
        now = time.monotonic()
        for session in [session for session in self._sessions.values() if session.expires < now]:
            self._delete(session)
        held = {key: size for key, session in self._sessions.items() if (size := session.nbytes)}  # least recently used first
        self._fit_visitors(held)
        while len(held) > self._limits.corpora_in_memory or sum(held.values()) > self._limits.memory_bytes:
            self._evict(held, self._greediest(held))

    def _fit_visitors(self, held: dict[str, int]) -> None:
        """Leave each connection as many as one visitor may hold."""
        counts = Counter(self._sessions[key].visitor.connection for key in held)
        for key in list(held):
            connection = self._sessions[key].visitor.connection
            if connection and counts[connection] > self._limits.corpora_a_visitor:
                counts[connection] -= 1
                self._evict(held, key)

    def _greediest(self, held: dict[str, int]) -> str:
        """Of the address that holds most bytes, the session that was idle longest."""
        sizes: Counter[str] = Counter()
        for key, size in held.items():
            sizes[self._sessions[key].visitor.address] += size
        most = sizes.most_common(1)[0][0]
        return next(key for key in held if self._sessions[key].visitor.address == most)

    def _evict(self, held: dict[str, int], key: str) -> None:
        del held[key]
        self._delete(self._sessions[key])

    def _delete(self, session: Session) -> None:
        session.revoke_all()
        del self._sessions[session.id]
