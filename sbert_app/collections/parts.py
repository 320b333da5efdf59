"""The rows of a collection in a folder: Arrow files that are mapped into memory, and a log of what was written."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sbert_app.collections.collection import EMBEDDING, FILE_BITS, ROW, Rows
from sbert_app.storage import replacing, seal, unseal
from sbert_app.vectors import Vectors

PARTS, LOG = "parts", "log.jsonl"


class Parts:
    """Tables of rows in ascending order of ids, each id once. Nothing of them is in memory but ids and places (16 bytes a row)."""

    def __init__(self, tables: Sequence[pa.Table], ids: Rows, places: Rows) -> None:
        """ids: (n,), ascending. places: (n,), the place of each row in all tables laid end to end."""
        self.ids = ids
        self._tables = tables
        self.places = places
        self._starts = np.cumsum([0, *map(len, tables)])

    nbytes = 0  # mapped, not held

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def read(cls, folder: Path, names: Sequence[str], ids: Path, places: Path) -> "Parts":
        """Map the named parts and the arrays that `live` made."""
        tables = [mapped(folder / PARTS / name) for name in names]
        return cls(tables, np.load(ids, mmap_mode="r"), np.load(places, mmap_mode="r"))

    def positions(self, ids: Sequence[int]) -> Rows:
        """The positions of these ids among all rows, without those that are unknown."""
        wanted = np.asarray(ids, dtype=np.int64)
        if not len(self):
            return wanted[:0]
        near = np.minimum(np.searchsorted(self.ids, wanted), len(self) - 1)
        return np.asarray(near[self.ids[near] == wanted], dtype=np.int64)

    def take(self, positions: Rows, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at these positions, in this order."""
        places = np.asarray(self.places[positions])
        part = np.searchsorted(self._starts, places, side="right") - 1
        order = np.argsort(part, kind="stable")
        pieces = []
        for number, members in _runs(part[order], order):
            table = self._tables[number] if columns is None else self._tables[number].select(columns)
            pieces.append(table.take(pa.array(places[members] - self._starts[number])))
        if not pieces:
            return self._empty(columns)
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return pa.concat_tables(pieces).combine_chunks().take(pa.array(back))

    def embeddings(self, positions: Rows) -> Vectors:
        """The embeddings at these positions, (n, dim) float32."""
        places = np.asarray(self.places[positions])
        part = np.searchsorted(self._starts, places, side="right") - 1
        vectors = np.empty((len(places), self._dim), dtype=np.float32)
        order = np.argsort(part, kind="stable")
        for number, members in _runs(part[order], order):
            vectors[members] = self._vectors(number)[places[members] - self._starts[number]]
        return vectors

    def column(self, name: str) -> pa.Table:
        """One column of all rows, as a table."""
        whole = pa.concat_tables([table.select([name]) for table in self._tables])
        if len(whole) == len(self) and np.array_equal(self.places[[0, -1]], [0, len(self) - 1]) and self._in_order:
            return whole
        return whole.take(pa.array(np.asarray(self.places)))

    def scan(self, batch: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows in ascending order of ids, `batch` at a time."""
        for start in range(0, len(self), batch):
            yield self.take(np.arange(start, min(start + batch, len(self))), columns)

    @property
    def _in_order(self) -> bool:
        return bool((np.diff(self.places) == 1).all())

    @property
    def _dim(self) -> int:
        return int(self._tables[0].schema.field(EMBEDDING).type.list_size)

    def _vectors(self, number: int) -> np.ndarray:
        chunk = self._tables[number].column(EMBEDDING).chunk(0)
        return chunk.flatten().to_numpy(zero_copy_only=True).reshape(-1, self._dim)  # type: ignore[no-any-return]

    def _empty(self, columns: Sequence[str] | None) -> pa.Table:
        schema = self._tables[0].schema
        return (schema if columns is None else pa.schema([schema.field(name) for name in columns])).empty_table()


def write_part(folder: Path, rows: pa.Table) -> str:
    """Write rows as one part, whole or not at all, and return its name, which derives from its content."""
    rows = rows.combine_chunks()
    digest = hashlib.blake2b(digest_size=12)
    for column in rows.columns:
        for buffer in (b for chunk in column.chunks for b in chunk.buffers() if b is not None):
            digest.update(buffer)
    name = f"{digest.hexdigest()}.arrow"
    path = folder / PARTS / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary, pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=max(len(rows), 1))
    return name


def note(folder: Path, entry: dict[str, Any]) -> None:
    """Append what was done to the log: {"part": name} or {"trim": [file, rows]}."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"\n{seal(entry)}\n")  # on a line of its own also after one that was cut short
        log.flush()
        os.fsync(log.fileno())


def logged(folder: Path) -> list[dict[str, Any]]:
    """What the log says; a line that was cut short by the end of a process is left out, and written again by whoever goes on."""
    entries = []
    with suppress(FileNotFoundError):
        for line in (folder / LOG).read_bytes().splitlines():
            with suppress(ValueError, json.JSONDecodeError):
                entries.append(unseal(line))
    return entries


def live(folder: Path, entries: Sequence[dict[str, Any]]) -> tuple[list[str], Rows, Rows]:
    """Which rows count, after what the log says: the names of their parts, their ids in ascending order, and their places."""
    times = {str(entry["part"]): i for i, entry in enumerate(entries) if "part" in entry}
    names = [name for name in sorted(times, key=times.__getitem__) if (folder / PARTS / name).exists()]
    every = [mapped(folder / PARTS / name).column(ROW).to_numpy() for name in names]
    masks = [_untrimmed(ids, entries[times[name] :]) for name, ids in zip(names, every, strict=True)]
    while True:
        places = _last_of_each(every, masks)
        used = np.unique(np.searchsorted(np.cumsum([len(ids) for ids in every]), places, side="right"))
        if len(used) == len(names):
            return names, np.concatenate([*every, np.empty(0, dtype=np.int64)])[places], places
        names, every, masks = ([values[i] for i in used] for values in (names, every, masks))


def _untrimmed(ids: Rows, entries: Sequence[dict[str, Any]]) -> NDArray[np.bool_]:
    """Which of these ids the log's entries leave, (n,)."""
    mask = np.ones(len(ids), dtype=bool)
    for file, rows in (entry["trim"] for entry in entries if "trim" in entry):
        mask &= ~((ids > (file << FILE_BITS) + rows) & (ids < (file + 1) << FILE_BITS))
    return mask


def _last_of_each(parts: Sequence[Rows], masks: Sequence[NDArray[np.bool_]]) -> Rows:
    """The places of the rows that count, in ascending order of ids: of equal ids the last."""
    ids = np.concatenate([*parts, np.empty(0, dtype=np.int64)])
    mask = np.concatenate([*masks, np.empty(0, dtype=bool)])
    places = np.flatnonzero(mask)
    places = places[np.argsort(ids[places], kind="stable")]
    return places[np.append(np.diff(ids[places]) != 0, True)] if len(places) else places


def mapped(path: Path) -> pa.Table:
    """The table of a part, left on disk until it is read."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


def _runs(part: Rows, order: Rows) -> Iterator[tuple[int, Rows]]:
    """Split positions in order of their parts: (number of the part, positions)."""
    bounds = np.flatnonzero(np.diff(part)) + 1
    for members in np.split(np.arange(len(part)), bounds):
        if len(members):
            yield int(part[members[0]]), order[members]
