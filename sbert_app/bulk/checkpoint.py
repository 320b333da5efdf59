"""What a run keeps in its work folder, so that an interrupted one continues: shards, and which pieces a collection holds."""

import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.storage import replacing, seal, unseal, write_whole, writing
from sbert_app.vectors import Vectors, unit_rows

KEY = re.compile(r"[0-9a-f]{32}")  # see `pieces.digest`
CHECKSUM_BYTES = 4  # after the array

Halves = NDArray[np.float16]


class Shards:
    """Files `KEY.npy` in a folder that several processes, and machines, may write at once: equal names, equal content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.npy"

    def write(self, key: str, embeddings: Vectors) -> None:
        """Keep embeddings, (n, dim), as unit vectors in float16. The file is there as a whole or not at all, even after a crash."""
        stream = io.BytesIO()
        np.save(stream, unit_rows(embeddings).astype(np.float16))
        content = stream.getvalue()
        with writing("The shard"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.path(key)) as temporary, temporary.open("wb") as file:
                file.write(content + _checksum(content))
                file.flush()
                os.fsync(file.fileno())

    def read(self, key: str, rows: int) -> Halves | None:
        """The embeddings of `rows` sentences, (rows, dim); None if they are not there. A damaged file is deleted."""
        with suppress(FileNotFoundError):
            content = self.path(key).read_bytes()
            array = content[:-CHECKSUM_BYTES]
            if content[-CHECKSUM_BYTES:] == _checksum(array):
                embeddings: Halves = np.load(io.BytesIO(array))
                if len(embeddings) == rows:
                    return embeddings
            self.path(key).unlink()
        return None

    def keep_only(self, keys: set[str]) -> None:
        """Delete all other shards."""
        for path in self.folder.glob("*.npy"):
            if KEY.fullmatch(path.stem) and path.stem not in keys:
                with suppress(OSError):
                    path.unlink()


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "little")


@dataclass
class Stored:
    """A piece that was written: its content, its shard, its rows; finished: whether the collection was finished after it."""

    content: str
    key: str
    rows: int
    finished: bool = False


class Checkpoint:
    """The pieces of a collection by place: (number of the file, rows before the piece). One process writes them."""

    def __init__(self, path: Path, files: Sequence[str], count: int) -> None:
        """files, count: of the collection. Pieces that claim more rows are not believed: it was emptied, or a run was killed."""
        self._path = path
        self.files: tuple[str, ...] = ()  # of a run that was killed, also those that the collection does not name yet
        self._pieces: dict[int, dict[int, Stored]] = {}  # by file, then by the rows before the piece
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else ():
            try:
                [(action, values)] = unseal(line).items()
            except ValueError:  # a killed process left the line unfinished, or it was damaged: it ends the log
                break
            self._apply(action, values)
        if self.files[: len(files)] != tuple(files):  # another collection was here
            self.files, self._pieces = tuple(files), {}
        self.believed = self.rows <= count
        if not self.believed:
            for file, pieces in self._pieces.items():
                self._pieces[file] = {start: piece for start, piece in pieces.items() if piece.finished}
        if self.rows > count:
            self._pieces = {}
        self._rewrite()

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self._all())

    @property
    def unfinished(self) -> bool:
        """Whether pieces were written after the collection was last finished."""
        return any(not piece.finished for piece in self._all())

    @property
    def keys(self) -> set[str]:
        return {piece.key for piece in self._all()}

    def holds(self, file: int, start: int, content: str) -> bool:
        """Whether the collection has this content at this place."""
        piece = self._pieces.get(file, {}).get(start)
        return piece is not None and piece.content == content

    def reaches(self, file: int, start: int) -> bool:
        """Whether the collection has, or may have, pieces of a file from a row on."""
        return not self.believed or max(self._pieces.get(file, ()), default=-1) >= start

    def name_files(self, files: Sequence[str]) -> None:
        """Give numbers to files that have none, before rows of them are written."""
        self._note("files", list(dict.fromkeys((*self.files, *files))))

    def put(self, file: int, start: int, content: str = "", key: str = "", rows: int = 0) -> None:
        """Remember a piece that was written; without content one that may be there from now on, in part or as a whole."""
        self._note("put", [file, start, content, key, rows])

    def cut(self, file: int, start: int) -> None:
        """Forget the pieces of a file from a row on, before they are taken out of the collection."""
        self._note("cut", [file, start])

    def finish(self) -> None:
        """Remember that the collection was finished."""
        self._apply("finish", [])
        self._rewrite()

    def _all(self) -> Iterator[Stored]:
        return chain.from_iterable(pieces.values() for pieces in self._pieces.values())

    def _note(self, action: str, values: list[Any]) -> None:
        self._apply(action, values)
        with writing("The work folder"), self._path.open("a", encoding="utf-8") as log:
            log.write(f"{seal({action: values})}\n")

    def _apply(self, action: str, values: list[Any]) -> None:
        if action == "put":
            file, start, *stored = values
            self._pieces.setdefault(file, {})[start] = Stored(*stored)
        elif action == "cut":
            file, start = values
            self._pieces[file] = {first: piece for first, piece in self._pieces.get(file, {}).items() if first < start}
        elif action == "files":
            self.files = tuple(values)
        else:
            for piece in self._all():
                piece.finished = True

    def _rewrite(self) -> None:
        """Write the log again, without what was cut or replaced."""
        lines = {True: [seal({"files": list(self.files)})], False: [seal({"finish": []})]}
        for file, pieces in self._pieces.items():
            for start, piece in pieces.items():
                lines[piece.finished].append(seal({"put": [file, start, piece.content, piece.key, piece.rows]}))
        with writing("The work folder"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, "".join(f"{line}\n" for line in (*lines[True], *lines[False])))
