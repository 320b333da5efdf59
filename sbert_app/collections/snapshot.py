"""What a collection in a folder holds at one moment, as collection.json names it; and its log of what was written and taken out."""

import json
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import FILE_BITS, Facts
from sbert_app.collections.segments import NAME, PARTS, Segment, Segments, damaged
from sbert_app.corpus.faiss_index import FaissIndex
from sbert_app.corpus.filters import Matching, conditions, matching_rows
from sbert_app.storage import LEFTOVER, check, checksum, read_object, replacing, seal, unseal, write_object, write_whole
from sbert_app.vectors import Mask, Rows

FILE, LOG = "collection.json", "log.jsonl"
DATA = {"index": "faiss", "ids": "npy", "places": "npy"}  # files of a generation, beside the segments, and their endings
GENERATION = re.compile(r"(?:index-\d+\.faiss|(?:ids|places)-\d+\.npy)")
MOST_BYTES = 1 << 28  # of collection.json: it names each file that was indexed
MASKS = 8  # filters remembered, one byte a row
WHOLE = re.compile(rb'"[0-9a-f]{8}".')  # a line that has its checksum and what follows was not cut short
Entry = Mapping[str, Any]  # {"part": name of a segment} or {"trim": [file, rows]}


@dataclass(frozen=True)
class Snapshot:
    """index: None without rows; generation: counts the indexes built; stamp: of collection.json."""

    folder: Path
    facts: Facts
    rows: Segments
    index: FaissIndex | None = None
    generation: int = 0
    stamp: tuple[int, int] = (0, 0)
    _masks: dict[str, Matching] = field(default_factory=dict)

    @classmethod
    def without_rows(cls, folder: Path, facts: Facts) -> "Snapshot":
        none = np.empty(0, dtype=np.int64)
        return cls(folder, facts, Segments([], facts.schema, none, none))

    @classmethod
    def read(cls, folder: Path) -> "Snapshot":
        """Read what collection.json names. Raises DamagedError if a file has changed; segments are checked when first read."""
        with damaged(folder):
            try:
                return cls._read(folder)
            except FileNotFoundError:  # its writer replaced them in this moment
                time.sleep(0.1)
                return cls._read(folder)

    @classmethod
    def _read(cls, folder: Path) -> "Snapshot":
        if (folder / FILE).stat().st_size > MOST_BYTES:
            raise ValueError(f"{FILE} is too large")
        stamp, content = stamp_of(folder), read_object(folder / FILE)
        facts, names, generation = Facts.from_json(content["facts"]), tuple(content["parts"]), int(content["generation"])
        if not names and not content["rows"]:
            return replace(cls.without_rows(folder, facts), stamp=stamp)
        index, ids, places = paths = paths_of(folder, generation)
        if not all(path.is_file() for path in paths):  # a device or a pipe has no end
            raise FileNotFoundError("its index is not there")
        check(folder, {path.name: content["files"][path.name] for path in paths})
        arrays = (np.load(path, mmap_mode="r") for path in (ids, places))
        rows = Segments([Segment(folder, name, facts.schema) for name in names], facts.schema, *arrays)
        reads, depth = content["reads"]
        index_read = FaissIndex.load(facts.index, index, facts.dim, len(rows), int(reads), int(depth))
        if len(rows) != content["rows"] or rows.ids[-1] >> FILE_BITS >= len(facts.files):
            raise ValueError("its files differ in their number of rows")
        return cls(folder, facts, rows, index_read, generation, stamp)

    def write(self, facts: Facts) -> None:
        """Make collection.json name this, with these facts."""
        content = {
            "facts": facts.to_json(),
            "parts": list(self.rows.names),
            "generation": self.generation,
            "rows": len(self.rows),
            "reads": [self.index.reads, self.index.depth] if self.index else [],
            "files": {path.name: checksum(path) for path in paths_of(self.folder, self.generation)} if self.index else {},
        }
        write_object(self.folder / FILE, content)

    def following(self, rows: Segments, index: FaissIndex) -> "Snapshot":
        """The next generation: these rows with this index, written beside the files that are read meanwhile."""
        following = replace(self, rows=rows, index=index, generation=self.generation + 1, _masks={})
        index_path, *others = paths_of(self.folder, following.generation)
        with replacing(index_path) as temporary:
            index.save(temporary)
        for path, values in zip(others, (rows.ids, rows.places), strict=True):
            with replacing(path) as temporary, temporary.open("wb") as stream:
                np.save(stream, values)
        return following

    def matching(self, filters: Mapping[str, Any]) -> Matching:
        """Which rows match filters. Raises UserError if they do not fit the columns."""
        key = json.dumps(filters, sort_keys=True, default=str)
        matched = self._masks.get(key)
        if matched is None:
            names = [condition.column for condition in conditions(filters, self.facts.filterable)]
            columns = self.rows.columns([self.facts.field(name) for name in names])
            matched = matching_rows(self.facts.cells(columns, names), filters)
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = matched
        return matched


def paths_of(folder: Path, generation: int) -> list[Path]:
    """The files of a generation: index, ids, places."""
    return [folder / f"{name}-{generation}.{ending}" for name, ending in DATA.items()]


def stamp_of(folder: Path) -> tuple[int, int]:
    """Tells whether collection.json was replaced."""
    status = (folder / FILE).stat()
    return status.st_mtime_ns, status.st_ino


def written(folder: Path) -> list[Path]:
    """The files of all generations and segments, and what a killed process left of one."""
    beside = [path for path in folder.iterdir() if GENERATION.fullmatch(path.name) or LEFTOVER.fullmatch(path.name)]
    segments = (folder / PARTS).iterdir() if (folder / PARTS).is_dir() else ()
    return [*beside, *(path for path in segments if NAME.fullmatch(path.name) or LEFTOVER.fullmatch(path.name))]


def note(folder: Path, entry: Entry) -> None:
    """Append what was done."""
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(f"\n{seal(entry)}\n")  # on a line of its own also after one that was cut short
        log.flush()
        os.fsync(log.fileno())


def logged(folder: Path) -> list[Entry]:
    """The entries of the log. Raises ValueError if a line has changed.

    A line that was cut short by the end of a process is left out; the process that continues writes it again.
    """
    with suppress(FileNotFoundError):
        lines = (folder / LOG).read_bytes().split(b"\n")
        return [_checked(unseal(line)) for line in lines if line.endswith(b"}") or WHOLE.search(line)]
    return []


def _checked(entry: Entry) -> Entry:
    """An entry as `note` wrote it. Raises ValueError for others."""
    match entry:
        case {"part": str(name)} if len(entry) == 1 and NAME.fullmatch(name):
            return entry
        case {"trim": [int(file), int(rows)]} if len(entry) == 1 and 0 <= file < 1 << FILE_BITS - 1 and 0 <= rows < 1 << FILE_BITS:
            return entry
    raise ValueError("its log has changed")


def compact(folder: Path, entries: Sequence[Entry], names: Sequence[str]) -> None:
    """Write the log again without other segments than these, and without what was taken out before them or once more later."""
    lasts = {entry["part"]: i for i, entry in enumerate(entries) if "part" in entry}
    wanted = {lasts[name] for name in names}
    kept: list[Entry] = []
    least: dict[int, int] = {}  # of each file, the fewest rows that any later entry leaves
    for i, entry in reversed(list(enumerate(entries))):
        if "trim" in entry:
            file, rows = entry["trim"]
            if i < min(wanted) or rows >= least.get(file, rows + 1):
                continue
            least[file] = rows
        elif i not in wanted:
            continue
        kept.append(entry)
    if len(kept) < len(entries):
        write_whole(folder / LOG, "".join(f"{seal(entry)}\n" for entry in reversed(kept)))


def live(folder: Path, entries: Sequence[Entry], named: Collection[str], schema: pa.Schema) -> Segments:
    """Which rows count after these entries, which must name the segments `named`. Raises ValueError if not, DamagedError."""
    times = {str(entry["part"]): i for i, entry in enumerate(entries) if "part" in entry}
    if missing := set(named) - times.keys():
        raise ValueError(f"its log lacks {min(missing)}")
    names = [name for name in sorted(times, key=times.__getitem__) if name in named or (folder / PARTS / name).exists()]
    segments = [Segment(folder, name, schema) for name in names]
    masks = [_untrimmed(segment.ids, entries[times[segment.name] :]) for segment in segments]
    while True:
        ids = np.concatenate([*(segment.ids for segment in segments), np.empty(0, dtype=np.int64)])
        places = np.flatnonzero(np.concatenate([*masks, np.empty(0, dtype=bool)]))
        places = places[np.argsort(ids[places], kind="stable")]
        places = places[np.append(np.diff(ids[places]) != 0, True)] if len(places) else places  # of equal ids the last
        used = np.unique(np.searchsorted(np.cumsum([len(segment) for segment in segments]), places, side="right"))
        if len(used) == len(segments):
            return Segments(segments, schema, ids[places], places)
        segments, masks = [segments[i] for i in used], [masks[i] for i in used]


def _untrimmed(ids: Rows, entries: Sequence[Entry]) -> Mask:
    """Which of these ids the log's entries leave, (n,)."""
    mask = np.ones(len(ids), dtype=bool)
    for file, rows in (entry["trim"] for entry in entries if "trim" in entry):
        mask &= ~((ids > (file << FILE_BITS) + rows) & (ids < (file + 1) << FILE_BITS))
    return mask
