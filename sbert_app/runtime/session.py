"""What one visitor has: values by type, and the runs of jobs by name."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.runtime.stop import Stop, Visitor

Value = TypeVar("Value")


@dataclass
class Session:
    """One visitor, or one corpus of an API client: values by type, and runs of jobs by name, without fields for single features.

    A value whose class has `of_corpus = True` belongs to the corpus that was open when its job began, and is dropped with it. One
    that has a `close` is closed when it is dropped.
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

    @contextmanager
    def holding(self, value: object, stop: Stop) -> Iterator[None]:
        """Store a value while a run computes; afterwards it is dropped, unless a later run has stored its own."""
        self.put(value, stop)
        try:
            yield
        finally:
            with self._lock:
                if self._values.get(type(value)) is value:
                    del self._values[type(value)]

    def open(self, corpus: IndexedCorpus, stop: Stop | None = None, beside: object = None) -> bool:
        """Open a corpus: revoke all runs, drop the last corpus's values. Returns False, changing nothing, if `stop` is revoked.

        beside: a value of this corpus, stored at the same moment.
        """
        with self._lock:
            if stop is not None and stop.revoked:
                return False
            self.revoke_all()
            dropped = [value for kind, value in self._values.items() if getattr(kind, "of_corpus", False)]
            self._values = {kind: value for kind, value in self._values.items() if not getattr(kind, "of_corpus", False)}
            self._values[IndexedCorpus] = corpus
            if beside is not None:
                self._values[type(beside)] = beside
        _close(dropped)
        return True

    def close(self) -> None:
        """End every run, and close what the values hold open."""
        self.revoke_all()
        with self._lock:
            values = list(self._values.values())
        _close(values)

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


def _close(values: Iterable[object]) -> None:
    """Close those of the values that hold something open."""
    for value in values:
        close = getattr(value, "close", None)
        if callable(close):
            close()
