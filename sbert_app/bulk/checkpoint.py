"""Remember which pieces a collection already holds, so that an interrupted run continues after them: a log beside the shards."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sbert_app.storage import seal, unseal, write_whole, writing


@dataclass(frozen=True)
class Stored:
    """A piece that was written: its content, its shard, its rows; finished: whether the collection was finished after it."""

    content: str
    key: str
    rows: int
    finished: bool = False


class Checkpoint:
    """The pieces of a collection by place: (number of the file, rows before the piece). One process writes them."""

    def __init__(self, path: Path, files: Sequence[str], count: int) -> None:
        """files, count: the names of the files and the number of rows in the collection.

        Pieces that claim more rows are not believed: the collection was emptied, or a run was killed before it was finished.
        """
        self._path = path
        self.files: tuple[str, ...] = ()  # of a run that was killed, also those that the collection does not name yet
        self._pieces: dict[tuple[int, int], Stored] = {}
        self._replay()
        if self.files[: len(files)] != tuple(files):  # another collection was here
            self.files, self._pieces = tuple(files), {}
        self.believed = self.rows <= count
        if not self.believed:
            self._pieces = {place: piece for place, piece in self._pieces.items() if piece.finished}
        if self.rows > count:
            self._pieces = {}
        self._rewrite()

    @property
    def rows(self) -> int:
        return sum(piece.rows for piece in self._pieces.values())

    @property
    def unfinished(self) -> bool:
        """Whether pieces were written after the collection was last finished."""
        return any(not piece.finished for piece in self._pieces.values())

    @property
    def keys(self) -> set[str]:
        return {piece.key for piece in self._pieces.values()}

    def holds(self, file: int, start: int, content: str) -> bool:
        """Whether the collection has this content at this place."""
        piece = self._pieces.get((file, start))
        return piece is not None and piece.content == content

    def reaches(self, file: int, start: int) -> bool:
        """Whether the collection has, or may have, pieces of a file from a row on."""
        return not self.believed or any(number == file and first >= start for number, first in self._pieces)

    def name_files(self, files: Sequence[str]) -> None:
        """Remember the numbers of files, before rows of them are written."""
        self._note("files", list(files))

    def begin(self, file: int, start: int) -> None:
        """Remember that a piece may be there from now on, in part or as a whole."""
        self.put(file, start, "", "", 0)

    def put(self, file: int, start: int, content: str, key: str, rows: int) -> None:
        """Remember a piece that was written."""
        self._note("put", [file, start, content, key, rows])

    def cut(self, file: int, start: int) -> None:
        """Forget the pieces of a file from a row on, before they are taken out of the collection."""
        self._note("cut", [file, start])

    def finish(self) -> None:
        """Remember that the collection was finished."""
        self._apply("finish", [])
        self._rewrite()

    def _note(self, action: str, values: list[Any]) -> None:
        self._apply(action, values)
        with writing("The work folder"), self._path.open("a", encoding="utf-8") as log:
            log.write(f"{seal({action: values})}\n")

    def _apply(self, action: str, values: list[Any]) -> None:
        if action == "put":
            file, start, *piece = values
            self._pieces[file, start] = Stored(*piece)
        elif action == "cut":
            file, start = values
            self._pieces = {place: piece for place, piece in self._pieces.items() if place[0] != file or place[1] < start}
        elif action == "files":
            self.files = tuple(values)
        else:
            self._pieces = {place: replace(piece, finished=True) for place, piece in self._pieces.items()}

    def _replay(self) -> None:
        """Apply what the log holds. A line that a killed process left unfinished ends it."""
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else ():
            try:
                [(action, values)] = unseal(line).items()
            except ValueError:
                return
            self._apply(action, values)

    def _rewrite(self) -> None:
        """Write the log again, without what was cut or replaced."""
        lines = {True: [seal({"files": list(self.files)})], False: [seal({"finish": []})]}
        for place, piece in self._pieces.items():
            lines[piece.finished].append(seal({"put": [*place, piece.content, piece.key, piece.rows]}))
        with writing("The work folder"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, "".join(f"{line}\n" for line in (*lines[True], *lines[False])))
