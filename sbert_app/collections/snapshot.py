"""What a collection in a folder holds at one moment: its rows, its index and its facts, as collection.json names them."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sbert_app.collections.collection import Facts, Rows
from sbert_app.collections.faiss_index import FaissIndex
from sbert_app.collections.parts import LOG, PARTS, Parts, mapped
from sbert_app.corpus.filters import Matching, conditions, matching_rows
from sbert_app.storage import check, checksum, discard, read_object, reading, replacing, write_object

FILE = "collection.json"
DATA = ("index", "ids", "places")  # files of a generation, beside the parts
OWN_FILE, OWN_PART = re.compile(r"index-\d+\.faiss|(ids|places)-\d+\.npy"), re.compile(r"[0-9a-f]{24}\.arrow")
MASKS = 8  # filters remembered, one byte a row

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Snapshot:
    """names: of the parts; index: None without rows; generation: counts the indexes built; stamp: of collection.json."""

    folder: Path
    facts: Facts
    names: tuple[str, ...]
    parts: Parts
    index: FaissIndex | None = None
    generation: int = 0
    stamp: Stamp = (0, 0)
    _masks: dict[str, Matching] = field(default_factory=dict)

    @classmethod
    def without_rows(cls, folder: Path, facts: Facts) -> "Snapshot":
        none = np.empty(0, dtype=np.int64)
        return cls(folder, facts, (), Parts([], none, none))

    @classmethod
    def read(cls, folder: Path) -> "Snapshot":
        """Read what collection.json names. Raises DamagedError if its files are missing or have changed."""
        with reading(f"The collection '{folder}'", "Index the files again."):
            try:
                return cls._read(folder)
            except FileNotFoundError:  # its writer replaced them in this moment
                time.sleep(0.1)
                return cls._read(folder)

    @classmethod
    def _read(cls, folder: Path) -> "Snapshot":
        stamp, content = stamp_of(folder), read_object(folder / FILE)
        facts, names, generation = Facts.from_json(content["facts"]), tuple(content["parts"]), int(content["generation"])
        if not names:
            return replace(cls.without_rows(folder, facts), stamp=stamp)
        check(folder, content["files"])
        index, ids, places = (path_of(folder, name, generation) for name in DATA)
        parts = Parts.read(folder, names, ids, places)
        index_read = FaissIndex.load(facts.index, index, *map(int, content["reads"]))
        if not len(parts) == index_read.index.ntotal == int(content["rows"]):
            raise ValueError("its files differ in their number of rows")
        return cls(folder, facts, names, parts, index_read, generation, stamp)

    def write(self, facts: Facts) -> None:
        """Make collection.json name this, with these facts."""
        content = {
            "facts": facts.to_json(),
            "parts": list(self.names),
            "generation": self.generation,
            "rows": len(self.parts),
            "reads": [self.index.reads, self.index.depth] if self.index else [],
            "files": self._checksums() if self.index else {},
        }
        write_object(self.folder / FILE, content)

    def following(self, names: Sequence[str], ids: Rows, places: Rows) -> "Snapshot":
        """These rows of these parts, still without an index."""
        parts = Parts([mapped(self.folder / PARTS / name) for name in names], ids, places)
        return replace(self, names=tuple(names), parts=parts, index=None, _masks={})

    def with_index(self, index: FaissIndex) -> "Snapshot":
        """The next generation: these rows with this index, written beside the files that are read meanwhile."""
        following = replace(self, index=index, generation=self.generation + 1)
        paths = {name: path_of(self.folder, name, following.generation) for name in DATA}
        with replacing(paths["index"]) as temporary:
            index.save(temporary)
        for name, values in (("ids", self.parts.ids), ("places", self.parts.places)):
            with replacing(paths[name]) as temporary, temporary.open("wb") as stream:
                np.save(stream, values)
        return following

    def holds(self, names: Sequence[str], ids: Rows, kind: str) -> bool:
        """Whether these are its parts, its rows and the kind of its index already."""
        return self.facts.index == kind and self.names == tuple(names) and np.array_equal(self.parts.ids, ids)

    def matching(self, filters: Mapping[str, Any]) -> Matching:
        """Which rows match filters. Raises UserError if they do not fit the columns."""
        key = json.dumps(filters, sort_keys=True, default=str)
        matched = self._masks.get(key)
        if matched is None:
            names = [condition.column for condition in conditions(filters, self.facts.filterable)]
            columns = [self.facts.cells(self.parts.column(self.facts.field(name)), [name]) for name in names]
            matched = matching_rows(pd.concat(columns, axis=1), filters)
            if len(self._masks) >= MASKS:
                self._masks.clear()
            self._masks[key] = matched
        return matched

    def tidy(self) -> None:
        """Delete files of earlier generations and parts of which no row is left. Whoever still reads them has them open."""
        current = {path_of(self.folder, name, self.generation).name for name in DATA}
        former = [path for path in self.folder.iterdir() if OWN_FILE.fullmatch(path.name) and path.name not in current]
        unused = [p for p in (self.folder / PARTS).iterdir() if OWN_PART.fullmatch(p.name) and p.name not in self.names]
        for path in (*former, *unused):
            path.unlink(missing_ok=True)

    def _checksums(self) -> dict[str, str]:
        paths = (path_of(self.folder, name, self.generation) for name in DATA)
        return {path.name: checksum(path) for path in paths}


def path_of(folder: Path, name: str, generation: int) -> Path:
    """The file of a generation."""
    return folder / f"{name}-{generation}.{'faiss' if name == 'index' else 'npy'}"


def stamp_of(folder: Path) -> Stamp:
    """Tells whether collection.json was replaced."""
    status = (folder / FILE).stat()
    return status.st_mtime_ns, status.st_ino


def delete(folder: Path) -> None:
    """Delete all files of a collection, collection.json first."""
    owned = [folder / FILE, folder / LOG, folder / PARTS, *(path for path in folder.iterdir() if OWN_FILE.fullmatch(path.name))]
    for path in owned:
        if path.exists():
            discard(path)
