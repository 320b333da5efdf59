"""Remember which pieces a collection already holds, so that a run goes on behind them: a log beside the shards."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sbert_app.storage import replacing, seal, unseal, writing


@dataclass(frozen=True)
class Mark:
    """A piece that was written: its content, its shard, its rows; finished: the collection was finished behind it."""

    content: str
    key: str
    rows: int
    finished: bool = False


class Marks:
    """The pieces of a collection by place: (number of the file, rows before the piece). One process writes them."""

    def __init__(self, path: Path, files: Sequence[str], count: int) -> None:
        """files, count: the names of the files and the number of rows in the collection.

        Marks that claim more rows are not believed: the collection was emptied, or a run was killed before it was finished.
        """
        self._path = path
        places, noted = _read(path)
        if tuple(noted[: len(files)]) != tuple(files):  # another collection was here
            places, noted = {}, list(files)
        self.files = tuple(noted)  # a run that was killed may have written rows of files that the collection does not name yet
        self.believed = _rows(places) <= count
        if not self.believed:
            places = {place: mark for place, mark in places.items() if mark.finished}
        self._places = places if _rows(places) <= count else {}
        self._rewrite()

    @property
    def rows(self) -> int:
        return _rows(self._places)

    @property
    def unfinished(self) -> bool:
        """Whether pieces were written that the collection was not finished behind."""
        return any(not mark.finished for mark in self._places.values())

    @property
    def keys(self) -> set[str]:
        return {mark.key for mark in self._places.values()}

    def holds(self, file: int, start: int, content: str) -> bool:
        """Whether the collection has this content at this place."""
        mark = self._places.get((file, start))
        return mark is not None and mark.content == content

    def reaches(self, file: int, start: int) -> bool:
        """Whether the collection has, or may have, pieces of a file from a row on."""
        return not self.believed or any(number == file and first >= start for number, first in self._places)

    def name_files(self, files: Sequence[str]) -> None:
        """Remember the numbers of files, before rows of them are written."""
        self.files = tuple(files)
        self._append({"files": list(files)})

    def begin(self, file: int, start: int) -> None:
        """Remember that a piece may be there from now on, in part or as a whole."""
        self.put(file, start, Mark("", "", 0))

    def put(self, file: int, start: int, mark: Mark) -> None:
        """Remember a piece that was written."""
        self._places[file, start] = mark
        self._append({"put": [file, start, mark.content, mark.key, mark.rows]})

    def cut(self, file: int, start: int) -> None:
        """Forget the pieces of a file from a row on, before they are taken out of the collection."""
        _cut(self._places, file, start)
        self._append({"cut": [file, start]})

    def finish(self) -> None:
        """Remember that the collection was finished."""
        _finish(self._places)
        self._rewrite()

    def _append(self, entry: Mapping[str, object]) -> None:
        with writing("The work folder"), self._path.open("a", encoding="utf-8") as log:
            log.write(f"{seal(entry)}\n")

    def _rewrite(self) -> None:
        """Write the log anew, without what was cut or replaced."""
        first, lines = seal({"files": list(self.files)}), {True: list[str](), False: list[str]()}
        for (file, start), mark in self._places.items():
            lines[mark.finished].append(seal({"put": [file, start, mark.content, mark.key, mark.rows]}))
        with writing("The work folder"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self._path) as temporary:
                temporary.write_text(
                    "".join(f"{line}\n" for line in (first, *lines[True], seal({"finish": []}), *lines[False])), "utf-8"
                )


def _rows(places: Mapping[tuple[int, int], Mark]) -> int:
    return sum(mark.rows for mark in places.values())


def _read(path: Path) -> tuple[dict[tuple[int, int], Mark], list[str]]:
    """Replay a log: (marks by place, files). A line that a killed process left unfinished ends it."""
    places: dict[tuple[int, int], Mark] = {}
    files: list[str] = []
    if not path.exists():
        return places, files
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            [(action, values)] = unseal(line).items()
        except (ValueError, json.JSONDecodeError):
            break
        if action == "put":
            file, start, content, key, rows = values
            places[file, start] = Mark(content, key, rows)
        elif action == "cut":
            _cut(places, *values)
        elif action == "files":
            files = values
        else:
            _finish(places)
    return places, files


def _cut(places: dict[tuple[int, int], Mark], file: int, start: int) -> None:
    for place in [place for place in places if place[0] == file and place[1] >= start]:
        del places[place]


def _finish(places: dict[tuple[int, int], Mark]) -> None:
    for place, mark in places.items():
        places[place] = Mark(mark.content, mark.key, mark.rows, finished=True)
