"""Where encoded pieces go: into a collection, or into Parquet files that need no app to be read."""

import re
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from sbert_app.bulk.marks import Mark, Marks
from sbert_app.bulk.pieces import Piece
from sbert_app.bulk.shards import Halves
from sbert_app.collections.collection import FILE_BITS, ROW, Collection, Facts, embedding_column
from sbert_app.storage import read_object, reading, replacing, write_object, writing_to

FILE = "file"  # a column of the Parquet files
PART = re.compile(r"\d{5}-\d{10}\.parquet")  # as `put` names a file
CONTENTS = "_contents.json"  # readers of a folder of Parquet files pass over names like this


class Sink(Protocol):
    """Takes the pieces of files, in order."""

    def holds(self, piece: Piece) -> bool:
        """Whether it has this piece already."""

    def put(self, piece: Piece, key: str, embeddings: Halves) -> None:
        """Take a piece, with unit embeddings, (n, dim)."""

    def end(self, path: Path, rows: int) -> None:
        """A file was read to its end and has so many rows."""


class IntoCollection:
    """Upserts pieces; where a file has changed, the rows from there on are taken out first. `changed`: whether it wrote."""

    def __init__(self, collection: Collection, facts: Facts, marks: Marks) -> None:
        """facts: with all files of this run."""
        self.collection, self.facts, self.marks = collection, facts, marks
        self._numbers = {name: number for number, name in enumerate(facts.files)}
        self._open: set[str] = set()  # files that are written anew from some row on
        self.changed = False

    def holds(self, piece: Piece) -> bool:
        return self.marks.holds(self._numbers[str(piece.path)], piece.start, piece.content)

    def put(self, piece: Piece, key: str, embeddings: Halves) -> None:
        name = str(piece.path)
        number = self._numbers[name]
        if name not in self._open:
            self._open.add(name)
            self._cut(name, piece.start)
        self.marks.begin(number, piece.start)
        if piece.rows:
            self.collection.upsert(table_of(self.facts, piece, embeddings, number))
        self.marks.put(number, piece.start, Mark(piece.content, key, len(piece.rows)))
        self.changed = True

    def end(self, path: Path, rows: int) -> None:
        self._cut(str(path), rows)

    def number(self, path: Path) -> int:
        """The number of a file in the collection."""
        return self._numbers[str(path)]

    def finish(self, facts: Facts) -> None:
        """Make what was written searchable."""
        self.collection.finish(facts)
        self.marks.finish()
        self.facts, self.changed = facts, False

    def _cut(self, name: str, rows: int) -> None:
        number = self._numbers[name]
        if self.marks.reaches(number, rows):
            self.marks.cut(number, rows)
            self.marks.begin(number, rows)  # whoever goes on after a kill, or after the store was gone, takes them out again
            self.collection.trim(number, rows)
            self.marks.cut(number, rows)
            self.changed = True


class IntoParquet:
    """Writes a Parquet file a piece: file, row (its number in the file), sentence, metadata, embedding (float16 lists)."""

    def __init__(self, folder: Path, facts: Facts) -> None:
        self._folder, self._facts = folder, facts
        self._parts: list[str] = []
        with writing_to(folder, "out"):
            folder.mkdir(parents=True, exist_ok=True)
        self._earlier = _files_of_earlier_run(folder / CONTENTS)

    def holds(self, piece: Piece) -> bool:
        return False

    def put(self, piece: Piece, key: str, embeddings: Halves) -> None:
        import pyarrow.parquet

        if not piece.rows:
            return
        name = f"{self._facts.files.index(str(piece.path)):05}-{piece.start:010}.parquet"
        table = table_of(self._facts, piece, embeddings)
        file = pa.array([str(piece.path)] * len(table)).dictionary_encode()
        with writing_to(self._folder, "out"), replacing(self._folder / name) as temporary:
            pyarrow.parquet.write_table(table.add_column(0, FILE, file), temporary)
        self._parts.append(name)

    def end(self, path: Path, rows: int) -> None:
        pass

    def finish(self, facts: Facts, complete: bool) -> None:
        """Write what the folder holds; after a complete run, files of an earlier one that are not among them are deleted."""
        with writing_to(self._folder, "out"):
            parts = self._parts if complete else sorted({*self._parts, *self._earlier})
            write_object(self._folder / CONTENTS, {"facts": facts.to_json(), "parts": parts})
            for name in self._earlier - set(parts):
                (self._folder / name).unlink(missing_ok=True)


def _files_of_earlier_run(contents: Path) -> set[str]:
    """The files beside it that an earlier run wrote; other names are not believed. Raises DamagedError."""
    if not contents.exists():
        return set()
    with reading(f"'{contents}'", "Delete it, or choose another --out."):
        return {name for name in read_object(contents)["parts"] if PART.fullmatch(name)}


def table_of(facts: Facts, piece: Piece, embeddings: Halves, file: int = 0) -> pa.Table:
    """The rows of a piece with `facts.schema`; their numbers become ids of the file with that number."""
    columns = piece.columns()
    rows = np.array(piece.rows, dtype=np.int64) + (file << FILE_BITS)
    arrays = [pa.array(rows) if name == ROW else pa.array(columns[name], pa.string()) for name in facts.schema.names[:-1]]
    return pa.table([*arrays, embedding_column(np.asarray(embeddings, dtype=np.float32))], schema=facts.schema)
