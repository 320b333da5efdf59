"""What one visitor has: values by type, whose memory is counted, and the runs of jobs by name."""

import math
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.runtime.line import Stop
from sbert_app.runtime.visitors import Visitor

Value = TypeVar("Value")
ATOMS = (str, bytes, int, float)
WALKED = ("sbert_app.", "scipy.sparse.")  # modules whose objects are their attributes


@dataclass(eq=False)
class Session:
    """One visitor, or one corpus of an API client: values by type, and runs of jobs by name, without fields for single features.

    A value whose class has `of_corpus = True` belongs to the corpus that was open when its job began, and is dropped with it. One
    that has a `close` is closed when it is dropped.
    """

    id: str = ""
    visitor: Visitor = field(default_factory=Visitor)
    expires: float = math.inf
    grown: Callable[[], None] = lambda: None  # called after a value was stored
    left: float | None = None  # when its page was closed, which may come back
    nbytes: int = 0  # what the values hold in memory, approximately
    closed: bool = False  # it has ended, and stores nothing any more
    _values: dict[type, Any] = field(default_factory=dict)
    _held: dict[type, dict[int, int]] = field(default_factory=dict)  # bytes of a value by the objects that it is made of
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
        return self._store(lambda: stop is None or not stop.revoked, value)

    def swap(self, before: object, after: object) -> bool:
        """Replace `before`, None where nothing is stored, by `after`, of its type. False, storing nothing, if that has changed."""
        return self._store(lambda: self._values.get(type(after)) is before, after)

    def update(self, kind: type[Value], change: Callable[[Value | None], Value]) -> Value:
        """Replace the value of this type by what `change` makes of it: two changes at once are made one after the other."""
        while True:
            before = self.get(kind)
            after = change(before)
            if self.swap(before, after) or self.closed:
                return after

    def get(self, kind: type[Value]) -> Value | None:
        """The value of this type, or None."""
        with self._lock:
            return self._values.get(kind)

    def require(self, kind: type[Value], otherwise: str) -> Value:
        """The value of this type. Raises UserError with this sentence if there is none."""
        if (value := self.get(kind)) is None:
            raise UserError(otherwise)
        return value

    def corpus(self) -> IndexedCorpus:
        """The corpus that the visitor opened. Raises UserError if there is none."""
        way_out = "Choose an example or upload a file under “Corpus” at the top of the page."
        return self.require(IndexedCorpus, f"There is no corpus yet. {way_out}")

    def whole_corpus(self) -> IndexedCorpus:
        """The open corpus, all of whose rows the model has read. Raises UserError if there is none, or it is still being read."""
        corpus = self.corpus()
        if corpus.growing:
            raise UserError(corpus.growing.refusal)
        return corpus

    def drop(self, kind: type) -> None:
        with self._lock:
            self._forget([kind])

    def open(self, corpus: IndexedCorpus, stop: Stop | None = None, *beside: object, without: type | None = None) -> bool:
        """Open a corpus: revoke all runs, drop the last corpus's values. Returns False, changing nothing, if `stop` is revoked.

        beside: values of this corpus, stored at the same moment. without: a further type whose value is dropped. The run that
        reads a growing corpus goes on.
        """

        def ready() -> bool:
            if stop is not None and stop.revoked:
                return False
            self.revoke_all(stop if corpus.growing else None)
            dropped.extend(self._forget([k for k in self._values if getattr(k, "of_corpus", False) or k is without]))
            return True

        dropped: list[object] = []
        opened = self._store(ready, corpus, *beside)
        _close(dropped)
        return opened

    def close(self) -> None:
        """End every run, close what the values hold open, and store nothing from now on."""
        with self._lock:
            self.closed = True
            self.revoke_all()
            values = list(self._values.values())
        _close(values)

    def revoke_all(self, but: Stop | None = None) -> None:
        """End every run, but this one; they store nothing."""
        with self._lock:
            for stop in self._jobs.values():
                if stop is not but:
                    stop.revoke()
            self._jobs = {job: stop for job, stop in self._jobs.items() if stop is but}

    def weigh(self) -> None:
        """Count again what the values hold: some keep what they have computed."""
        with self._lock:
            values = list(self._values.values())
        counted = {type(value): held(value) for value in values}
        with self._lock:
            self._held |= {kind: parts for kind, parts in counted.items() if kind in self._values}
            self._sum()

    def _store(self, allowed: Callable[[], bool], *values: object) -> bool:
        """Store values at one moment, if this is allowed then."""
        counted = {type(value): held(value) for value in values}  # without the lock: a million texts take a while
        with self._lock:
            if self.closed or not allowed():
                return False
            self._values |= {type(value): value for value in values}
            self._held |= counted
            self._sum()
        self.grown()
        return True

    def _forget(self, kinds: Iterable[type]) -> list[object]:
        """Drop the values of these types, and return them. The caller holds the lock."""
        dropped = [self._values.pop(kind) for kind in kinds if kind in self._values]
        for value in dropped:
            del self._held[type(value)]
        self._sum()
        return dropped

    def _sum(self) -> None:
        """What values share is counted once."""
        self.nbytes = sum({name: size for parts in self._held.values() for name, size in parts.items()}.values())


def _close(values: Iterable[object]) -> None:
    """Close those of the values that hold something open."""
    for value in values:
        if callable(close := getattr(value, "close", None)):
            close()


def held(value: object) -> dict[int, int]:
    """Approximate bytes of each object that a value is made of, by the object's id: values that share one count it once.

    What has `nbytes` counts itself. Only texts and numbers are counted with what holds them.
    """
    sizes: dict[int, int] = {}
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in sizes or each is None or isinstance(each, type):
            continue
        if (own := getattr(each, "nbytes", None)) is not None:
            sizes[id(each)] = int(own)
            continue
        parts = list(_parts(each))
        sizes[id(each)] = sys.getsizeof(each) + sum(sys.getsizeof(part) for part in parts if isinstance(part, ATOMS))
        waiting += [part for part in parts if not isinstance(part, ATOMS)]
    return sizes


def _parts(value: Any) -> Iterable[object]:
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    return vars(value).values() if type(value).__module__.startswith(WALKED) and hasattr(value, "__dict__") else ()
