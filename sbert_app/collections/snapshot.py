"""What a collection in a folder holds at one moment: its rows, its index and its facts, as collection.json names them."""

import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sbert_app.collections.collection import FILE_BITS, Facts
from sbert_app.collections.log import LOG
from sbert_app.collections.segments import NAME, PARTS, Segment, Segments, damaged
from sbert_app.corpus.faiss_index import FaissIndex
from sbert_app.corpus.filters import Matching, conditions, matching_rows
from sbert_app.storage import LEFTOVER, check, checksum, read_object, replacing, write_object

FILE = "collection.json"
DATA = {"index": "faiss", "ids": "npy", "places": "npy"}  # files of a generation, beside the segments, and their endings
GENERATION = re.compile(r"(?:index-\d+\.faiss|(?:ids|places)-\d+\.npy)")
MOST_BYTES = 1 << 28  # of collection.json: it names each file that was indexed
MASKS = 8  # filters remembered, one byte a row


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
        """Read what collection.json names. Raises DamagedError if its files are missing or have changed.

        The segments are checked when their rows are first read: there may be gigabytes of them.
        """
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
            columns = [self.facts.cells(self.rows.column(self.facts.field(name)), [name]) for name in names]
            matched = matching_rows(pd.concat(columns, axis=1), filters)
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = matched
        return matched

    def tidy(self) -> None:
        """Delete files of earlier generations and segments of which no row is left. Processes that read them have them open."""
        current = {*self.rows.names, *(path.name for path in paths_of(self.folder, self.generation))}
        for path in _written(self.folder):
            if path.name not in current:
                path.unlink(missing_ok=True)


def paths_of(folder: Path, generation: int) -> list[Path]:
    """The files of a generation: index, ids, places."""
    return [folder / f"{name}-{generation}.{ending}" for name, ending in DATA.items()]


def stamp_of(folder: Path) -> tuple[int, int]:
    """Tells whether collection.json was replaced."""
    status = (folder / FILE).stat()
    return status.st_mtime_ns, status.st_ino


def delete(folder: Path) -> None:
    """Delete all files of a collection, collection.json first, and nothing else."""
    for path in (folder / FILE, folder / LOG, *_written(folder)):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        (folder / PARTS).rmdir()


def _written(folder: Path) -> list[Path]:
    """The files of all generations and segments, and what a killed process left of one."""
    beside = [path for path in folder.iterdir() if GENERATION.fullmatch(path.name) or LEFTOVER.fullmatch(path.name)]
    segments = (folder / PARTS).iterdir() if (folder / PARTS).is_dir() else ()
    return [*beside, *(path for path in segments if NAME.fullmatch(path.name) or LEFTOVER.fullmatch(path.name))]
