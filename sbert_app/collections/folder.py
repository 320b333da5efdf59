"""A collection in a folder of this machine: rows in Arrow files mapped into memory, a FAISS index beside them.

FOLDER/collection.json  log.jsonl  lock  parts/DIGEST-CHECKSUM.arrow  index-N.faiss  ids-N.npy  places-N.npy
Many processes read it while one writes: what they read changes only with collection.json, which is replaced as a whole.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock, Timeout

from sbert_app.collections.collection import EMBEDDING, EXACT, ROW, SCANN, CollectionError, Facts, Rows
from sbert_app.collections.faiss_index import FaissIndex
from sbert_app.collections.log import compact, live, logged, note
from sbert_app.collections.part import damaged, write_part
from sbert_app.collections.parts import Parts
from sbert_app.collections.recall import QUERIES, TOP, exact_search, recall
from sbert_app.collections.snapshot import FILE, Snapshot, delete, stamp_of
from sbert_app.corpus.filters import conditions
from sbert_app.corpus.index import EXACT_ROWS
from sbert_app.storage import writing
from sbert_app.vectors import Vectors

NARROW = 20_000  # rows behind a filter that are compared one by one; more are left to the index
BATCH = 20_000  # rows added to an index at a time
LOCK = "lock"
MISSING = "There is no collection in '{}'. Make one with: python -m sbert_app index FILES --store {}"


class FolderCollection:
    """See `Collection`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._snapshot: Snapshot | None = None
        self._reading = threading.Lock()
        self._lock: FileLock | None = None

    @classmethod
    def create(cls, folder: Path, facts: Facts) -> "FolderCollection":
        """Begin a collection in a folder that holds none. Raises CollectionError if it holds something else."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CollectionError(f"'{folder}' holds something already. Name a new or empty folder.")
        with writing(f"The collection '{folder}'"):
            folder.mkdir(parents=True, exist_ok=True)
            Snapshot.without_rows(folder, facts).write(facts)
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> "FolderCollection":
        collection = cls(folder)
        collection.count()
        return collection

    @property
    def address(self) -> str:
        return str(self._folder)

    @property
    def facts(self) -> Facts:
        return self._current().facts

    def kind_for(self, rows: int) -> str:
        return EXACT if rows <= EXACT_ROWS else SCANN

    # Writing

    def upsert(self, rows: pa.Table) -> None:
        schema = self.facts.schema
        self._write_log({"part": lambda: write_part(self._folder, rows.select(schema.names).cast(schema))})

    def trim(self, file: int, rows: int) -> None:
        self._write_log({"trim": lambda: [file, rows]})

    def finish(self, facts: Facts) -> None:
        self._hold()
        snapshot = self._current()
        with damaged(self._folder):
            entries = logged(self._folder)
            names, parts, ids, places = live(self._folder, entries, snapshot.names, facts.schema)
        if not len(ids):
            raise CollectionError("There are no rows to index.")
        with writing(f"The collection '{self._folder}'"):
            if not snapshot.holds(names, ids, facts.index):
                snapshot = snapshot.following(names, Parts(parts, facts.schema, ids, places))
                snapshot = snapshot.with_index(_build(snapshot.parts, facts))
            snapshot.write(facts)
            compact(self._folder, entries, names)
        self._current().tidy()

    def _write_log(self, entry: Mapping[str, Callable[[], object]]) -> None:
        self._hold()
        with writing(f"The collection '{self._folder}'"):
            note(self._folder, {name: value() for name, value in entry.items()})

    def drop(self) -> None:
        """Delete the folder's files that belong to the collection, and the folder if nothing else is in it."""
        self._hold()
        delete(self._folder)
        (self._folder / LOCK).unlink()  # while it is held: a process that waits for it sees that, and takes a new one
        self.close()
        with suppress(OSError):
            self._folder.rmdir()

    def close(self) -> None:
        if self._lock:
            self._lock.release()  # the file stays: another process may have taken it in this moment
            self._lock = None
        self._snapshot = None

    # Reading

    def count(self) -> int:
        return len(self._current().parts)

    def search(self, queries: Vectors, top: int, filters: Mapping[str, Any] | None = None) -> tuple[Vectors, Rows]:
        snapshot = self._current()
        conditions(filters or {}, snapshot.facts.filterable)  # also where there are no rows
        if snapshot.index is None:
            return np.empty((len(queries), 0), dtype=np.float32), np.empty((len(queries), 0), dtype=np.int64)
        mask = snapshot.matching(filters).mask if filters else None
        if mask is not None and mask.sum() <= NARROW:
            within = np.flatnonzero(mask)
            positions = np.broadcast_to(within, (len(queries), len(within)))
        else:
            with damaged(self._folder):
                positions = snapshot.index.candidates(queries, top, mask)
        return _closest(snapshot.parts, queries, positions, min(top, len(snapshot.parts)))

    def unread(self, filters: Mapping[str, Any]) -> Sequence[str]:
        snapshot = self._current()
        return snapshot.matching(filters).notes if snapshot.index else ()

    def fetch(self, rows: Sequence[int]) -> pa.Table:
        parts = self._current().parts
        return parts.take(parts.positions(rows)).select(self.facts.schema.names)

    def sample(self, count: int, seed: int = 0) -> Rows:
        ids = self._current().parts.ids
        chosen = np.random.default_rng(seed).choice(len(ids), min(count, len(ids)), replace=False)
        return np.asarray(ids[np.sort(chosen)])

    def scan(self, batch: int = 10_000) -> Iterator[pa.Table]:
        return self._current().parts.scan(batch)

    def _current(self) -> Snapshot:
        """What can be searched now: read again after another process has finished writing."""
        with self._reading:
            if not os.path.isfile(self._folder / FILE):  # noqa: PTH113 - False also for a name that is too long
                raise CollectionError(MISSING.format(self._folder, self._folder))
            with damaged(self._folder):
                if self._snapshot is None or self._snapshot.stamp != stamp_of(self._folder):
                    self._snapshot = Snapshot.read(self._folder)
                return self._snapshot

    def _hold(self) -> None:
        """Be the one that writes, until `close`."""
        if self._lock is None:
            lock = FileLock(self._folder / LOCK, thread_local=False)
            try:
                lock.acquire(timeout=1)
            except Timeout as error:
                raise CollectionError(f"Another process is writing the collection '{self._folder}'.") from error
            self._lock = lock


def _closest(parts: Parts, queries: Vectors, positions: Rows, top: int) -> tuple[Vectors, Rows]:
    """The best `top` of the positions of each query, (q, c) with -1 for none, by the embeddings themselves."""
    scores, ids = np.full((len(queries), top), -1, dtype=np.float32), np.full((len(queries), top), -1, dtype=np.int64)
    for number, (query, candidates) in enumerate(zip(queries, positions, strict=True)):
        candidates = np.unique(candidates[candidates >= 0])
        cosines = np.clip(parts.embeddings(candidates) @ query, -1, 1)
        best = np.argsort(-cosines, kind="stable")[:top]
        scores[number, : len(best)], ids[number, : len(best)] = cosines[best], parts.ids[candidates[best]]
    return scores, ids


def _build(parts: Parts, facts: Facts) -> FaissIndex:
    """An index of all rows, tuned to the target recall on rows of the collection."""
    rng = np.random.default_rng(0)
    training = np.sort(rng.choice(len(parts), FaissIndex.training_rows(facts.index, len(parts)), replace=False))
    batches = (parts.embeddings(np.arange(start, min(start + BATCH, len(parts)))) for start in range(0, len(parts), BATCH))
    index = FaissIndex.build(facts.index, facts.dim, len(parts), parts.embeddings(training), batches)
    sample = np.sort(rng.choice(len(parts), min(QUERIES, len(parts)), replace=False))
    queries, own = parts.embeddings(sample), parts.ids[sample]
    if facts.index != EXACT:
        exact = exact_search(parts.scan(BATCH, (ROW, EMBEDDING)), queries, TOP + 1)
        index.tune(lambda index: recall(*exact, *_closest(parts, queries, index.candidates(queries, TOP + 1), TOP + 1), own))
    return index
