"""The log of a collection in a folder: which segments were written and which rows were taken out, in order."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sbert_app.collections.collection import FILE_BITS
from sbert_app.collections.segments import NAME, PARTS, Segment, Segments
from sbert_app.storage import seal, unseal, write_whole
from sbert_app.vectors import Rows

LOG = "log.jsonl"
WHOLE = re.compile(rb'"[0-9a-f]{8}".')  # a line that has its checksum and what follows was not cut short
Entry = Mapping[str, Any]  # {"part": name of a segment} or {"trim": [file, rows]}


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
    entries: list[Entry] = []
    with suppress(FileNotFoundError):
        for line in filter(None, (folder / LOG).read_bytes().split(b"\n")):
            if line.endswith(b"}") or WHOLE.search(line):
                entries.append(_checked(unseal(line)))
    return entries


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
    """Which rows count, after what the log holds.

    named: the segments that the collection has, which the log must name. Raises ValueError if it does not, DamagedError.
    """
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


def _checked(entry: Entry) -> Entry:
    """An entry as `note` wrote it. Raises ValueError for others."""
    match entry:
        case {"part": str(name)} if len(entry) == 1 and NAME.fullmatch(name):
            return entry
        case {"trim": [int(file), int(rows)]} if len(entry) == 1 and 0 <= file < 1 << FILE_BITS - 1 and 0 <= rows < 1 << FILE_BITS:
            return entry
    raise ValueError("its log has changed")


def _untrimmed(ids: Rows, entries: Sequence[Entry]) -> NDArray[np.bool_]:
    """Which of these ids the log's entries leave, (n,)."""
    mask = np.ones(len(ids), dtype=bool)
    for file, rows in (entry["trim"] for entry in entries if "trim" in entry):
        mask &= ~((ids > (file << FILE_BITS) + rows) & (ids < (file + 1) << FILE_BITS))
    return mask
