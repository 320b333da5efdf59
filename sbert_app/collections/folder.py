"""A collection in a folder of this machine: rows in Arrow files mapped into memory, a FAISS index beside them.

FOLDER/collection.json  log.jsonl  lock  parts/DIGEST-CHECKSUM.arrow  index-N.faiss  ids-N.npy  places-N.npy
Many processes read it while one writes: what they read changes only with collection.json, which is replaced as a whole.
"""

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from filelock import FileLock

from sbert_app.collections.collection import EMBEDDING, QUERIES, ROW, Collection, CollectionError, Facts, exact_search
from sbert_app.collections.segments import PARTS, Segments, damaged, write_segment
from sbert_app.collections.snapshot import FILE, LOG, Snapshot, compact, live, logged, note, paths_of, stamp_of, written
from sbert_app.corpus.faiss_index import EXACT, SCANN, TOP, FaissIndex, closest, training_rows
from sbert_app.corpus.filters import conditions
from sbert_app.corpus.vector_index import sampled
from sbert_app.storage import hold, writing
from sbert_app.vectors import Rows, Vectors

NARROW = 20_000  # rows that a filter leaves and that are compared one by one; more are left to the index
BATCH = 20_000  # rows added to an index at a time
FIRST_SHARE = 64  # see `FaissIndex.tune`
LOCK = "lock"
MISSING = "There is no collection in '{}'. Make one with: python -m sbert_app index FILES --store {}"


class FolderCollection(Collection):
    approximate = SCANN

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

    def upsert(self, rows: pa.Table) -> None:
        schema = self.facts.schema
        with self._writing():
            note(self._folder, {"part": write_segment(self._folder, rows.select(schema.names).cast(schema))})

    def trim(self, file: int, rows: int) -> None:
        with self._writing():
            note(self._folder, {"trim": [file, rows]})

    def finish(self, facts: Facts) -> None:
        self._hold()
        snapshot = self._current()
        with damaged(self._folder):
            entries = logged(self._folder)
            rows = live(self._folder, entries, snapshot.rows.names, facts.schema)
        if not len(rows):
            raise CollectionError("There are no rows to index.")
        with self._writing():
            held = snapshot.rows
            if snapshot.facts.index != facts.index or held.names != rows.names or not np.array_equal(held.ids, rows.ids):
                snapshot = snapshot.following(rows, _build(rows, facts))
            snapshot.write(facts)
            compact(self._folder, entries, rows.names)
        snapshot = self._current()
        named = {*snapshot.rows.names, *(path.name for path in paths_of(self._folder, snapshot.generation))}
        for path in written(self._folder):  # of earlier generations; processes that read them have them open
            if path.name not in named:
                path.unlink(missing_ok=True)

    def drop(self) -> None:
        """Delete the folder's files that belong to the collection, and the folder if nothing else is in it."""
        self._hold()
        for path in (self._folder / FILE, self._folder / LOG, *written(self._folder)):  # collection.json first
            path.unlink(missing_ok=True)
        with suppress(OSError):
            (self._folder / PARTS).rmdir()
        (self._folder / LOCK).unlink()  # while it is held: a process that waits for it sees that, and takes a new one
        self.close()
        with suppress(OSError):
            self._folder.rmdir()

    def close(self) -> None:
        if self._lock:
            self._lock.release()  # the file stays: another process may have taken it in this moment
            self._lock = None
        self._snapshot = None

    def count(self) -> int:
        return len(self._current().rows)

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
        rows = snapshot.rows
        each_once = (np.unique(candidates) for candidates in positions)  # of a query, -1 for none
        scores, best = closest(queries, each_once, min(top, len(rows)), rows.embeddings)
        return np.clip(scores, -1, 1), np.where(best < 0, -1, rows.ids[best])

    def unread(self, filters: Mapping[str, Any]) -> Sequence[str]:
        snapshot = self._current()
        return snapshot.matching(filters).notes if snapshot.index else ()

    def fetch(self, rows: Sequence[int]) -> pa.Table:
        held = self._current().rows
        return held.take(held.positions(rows)).select(self.facts.schema.names)

    def sample(self, count: int) -> Rows:
        ids = self._current().rows.ids
        return np.asarray(ids[np.sort(sampled(len(ids), count))])

    def scan(self, batch: int = 10_000) -> Iterator[pa.Table]:
        return self._current().rows.scan(batch)

    def _current(self) -> Snapshot:
        """What can be searched now: read again after another process has finished writing."""
        with self._reading:
            if not os.path.isfile(self._folder / FILE):  # noqa: PTH113 - False also for a name that is too long
                raise CollectionError(MISSING.format(self._folder, self._folder))
            with damaged(self._folder):
                if self._snapshot is None or self._snapshot.stamp != stamp_of(self._folder):
                    self._snapshot = Snapshot.read(self._folder)
                return self._snapshot

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._hold()
        with writing(f"The collection '{self._folder}'"):
            yield

    def _hold(self) -> None:
        """Be the one that writes, until `close`."""
        if self._lock is None:
            refusal = CollectionError(f"Another process is writing the collection '{self._folder}'.")
            self._lock = hold(self._folder / LOCK, f"The collection '{self._folder}'", refusal)


def _build(rows: Segments, facts: Facts) -> FaissIndex:
    """An index of all rows, tuned to the target recall on rows of the collection."""
    rng = np.random.default_rng(0)
    training = np.sort(rng.choice(len(rows), training_rows(facts.index, len(rows)), replace=False))
    batches = (rows.embeddings(np.arange(start, min(start + BATCH, len(rows)))) for start in range(0, len(rows), BATCH))
    index = FaissIndex.build(facts.index, facts.dim, len(rows), rows.embeddings(training), batches)
    if facts.index != EXACT:
        sample = np.sort(rng.choice(len(rows), min(QUERIES, len(rows)), replace=False))
        cosines, ids = exact_search(rows.scan(BATCH, (ROW, EMBEDDING)), rows.embeddings(sample), TOP + 1)
        positions = np.where(ids < 0, -1, np.searchsorted(rows.ids, ids))
        index.tune(sample, (cosines, positions), rows.embeddings, FIRST_SHARE)
    return index
