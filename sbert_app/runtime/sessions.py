"""What belongs to one visitor, found only by an unguessable id. Bounded in number and in idle time."""

import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from sbert_app.corpus.findings import Compared, Mined
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.services.map_result import CorpusMap
from sbert_app.settings import Limits
from sbert_app.tables import Table
from sbert_app.timing.result import TimingResult

LEFT_SECONDS = 600  # a closed or sleeping tab may come back


@dataclass
class Session:
    """One visitor, or one corpus of an API client. An event is set to end the work that is going on."""

    id: str
    expires: float
    owner: str = ""
    table: Table | None = None
    labelled: Table | None = None  # what the Fine-tune tab was given
    corpus: IndexedCorpus | None = None
    duplicates: Mined | None = None  # of the corpus it names, which may be gone by now
    compared: Compared | None = None  # another file with that corpus
    timing: TimingResult | None = None  # of the last race
    map: CorpusMap | None = None  # the last that was drawn
    stop: threading.Event = field(default_factory=threading.Event)  # ends the indexing
    stop_timing: threading.Event = field(default_factory=threading.Event)
    stop_duplicates: threading.Event = field(default_factory=threading.Event)
    stop_overlap: threading.Event = field(default_factory=threading.Event)
    stop_map: threading.Event = field(default_factory=threading.Event)

    def stop_all(self) -> None:
        """End whatever is going on."""
        for event in (self.stop, self.stop_timing, self.stop_duplicates, self.stop_overlap, self.stop_map):
            event.set()


class Sessions:
    """Sessions by id, least recently used first. Opening one more than fits forgets the one idle longest."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, owner: str = "") -> Session:
        """A new session with a random id. `owner` names the browser connection it belongs to."""
        session = Session(secrets.token_urlsafe(16), self._expiry(), owner)
        with self._lock:
            self._sessions[session.id] = session
            self._forget()
        return session

    def get(self, session_id: str) -> Session:
        """The session of this id. Raises UserError where it has ended or never was."""
        with self._lock:
            self._forget()
            session = self._sessions.get(session_id)
            if session is None:
                raise UserError("This session has ended. Reload the page, or index the corpus again.")
            session.expires = self._expiry()
            self._sessions.move_to_end(session_id)
            return session

    def leave(self, owner: str) -> None:
        """The browser connection closed: stop its work now, forget its data a little later."""
        with self._lock:
            for session in self._sessions.values():
                if session.owner == owner:
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
        for session_id in [key for key, session in self._sessions.items() if session.expires < now]:
            del self._sessions[session_id]
        # Empty sessions cost nothing: only those that hold something count against the limit.
        holding = [key for key, held in self._sessions.items() if held.corpus or held.table or held.labelled or held.map]
        for session_id in holding[: max(0, len(holding) - self._limits.corpora_in_memory)]:
            del self._sessions[session_id]
