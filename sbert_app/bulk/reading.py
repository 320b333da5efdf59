"""The files of a bulk run, and one of them as a stream of chunks of rows, as strings: nothing holds more of it than a chunk.

A file is named alone, by a folder or by a pattern, and known by its path. Rows are numbered from 1, with bad ones, as elsewhere.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.binary import INDEX, text_cells
from sbert_app.tables.collecting import distinct_names
from sbert_app.tables.decoding import TextFile, kind_of, open_text
from sbert_app.tables.delimited import Rows, csv_rows, tsv_rows
from sbert_app.tables.header import with_header
from sbert_app.tables.table import LINE_COLUMN
from sbert_app.tables.text import cell, is_table, texts_of

HIDDEN = (".", "_")  # how names of files begin that tools leave beside data
CHUNK_ROWS = 1024
UNBOUNDED = replace(Limits(), unpacked_bytes=1 << 62)  # what is unpacked is read in pieces
MOST_EXAMPLES = 10


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows: their numbers in the file, (n,), and their cells by column, (n,) each."""

    numbers: list[int]
    cells: Mapping[str, Sequence[str]]


@dataclass
class Tally:
    """What was left out while reading: how many rows for which reason, and where the first of them are."""

    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, file: str, row: int, reason: str) -> None:
        self.reasons[reason] += 1
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append(f"{file}, row {row:,}: {reason}")


def list_files(names: Sequence[str]) -> tuple[list[Path], list[Path]]:
    """The files, each once, in the order of their paths, and those in folders of other formats. UserError for a name of none."""
    files = [path for name in names for path in _files(name)]
    fitting = {path.resolve() for path in files if kind_of(path.name, KINDS)}
    return sorted(fitting), sorted({path.resolve() for path in files} - fitting)


def _files(name: str) -> list[Path]:
    path = Path(name).expanduser()
    if path.is_dir():
        visible = (file for file in path.rglob("*") if not any(name.startswith(HIDDEN) for name in file.relative_to(path).parts))
        files = [file for file in visible if file.is_file()]
        if not any(kind_of(file.name, KINDS) for file in files):
            raise UserError(f"The folder '{name}' holds no file that can be indexed. Formats: {', '.join(KINDS)}.")
        return files
    matches = [path] if path.is_file() else []
    with suppress(ValueError, NotImplementedError, OSError):  # not a pattern such as data/**/*.csv
        matches = matches or [match for match in Path(path.anchor).glob(str(path.relative_to(path.anchor))) if match.is_file()]
    if not matches:
        raise UserError(f"There is no file '{name}'. Check the path.")
    for match in matches:
        if not kind_of(match.name, KINDS):
            raise UserError(f"'{match.name}' is not a format that can be indexed as a stream. Use one of {', '.join(KINDS)}.")
    return matches


def chunks(path: Path, tally: Tally) -> Iterator[Chunk]:
    """The rows of a file; rows that fit no column are counted in `tally`. Raises UserError where it cannot be read further."""
    try:
        if (kind := kind_of(path.name, KINDS)) == "parquet":
            yield from _parquet(path)
        else:
            file = open_text(path, path.name, kind.endswith(".gz"), UNBOUNDED)
            yield from READERS[kind.removesuffix(".gz")](file, tally)
    except OSError as error:
        raise UserError(f"'{path.name}' cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"'{path.name}' is not UTF-8 text. Save it as UTF-8.") from error


def _txt(file: TextFile, tally: Tally) -> Iterator[Chunk]:
    if is_table(file):
        yield from _delimited(file, tsv_rows(file), tally)
        return
    for batch in _batches(enumerate(texts_of(file)[0], 1)):
        yield Chunk([number for number, _ in batch], {LINE_COLUMN: [text for _, text in batch]})


def _delimited(file: TextFile, rows: Rows, tally: Tally) -> Iterator[Chunk]:
    header, _, rows_below = with_header(file.name, rows)
    columns, width = distinct_names(header), len(header)
    for batch in _batches(enumerate(rows_below, 1)):
        for number, row in batch:
            if len(row) != width and any(map(str.strip, row)):
                tally.add(file.name, number, f"{len(row)} cells where the header has {width}")
        fitting = [(number, row) for number, row in batch if len(row) == width]
        cells = zip(*(row for _, row in fitting), strict=True) if fitting else [()] * width
        yield Chunk([number for number, _ in fitting], dict(zip(columns, cells, strict=True)))
    if rows.swallowed:
        reason = f"part of a cell above, by a quotation mark that is not closed, first in line {rows.first:,}"
        tally.reasons[reason] += rows.swallowed


def _jsonl(file: TextFile, tally: Tally) -> Iterator[Chunk]:
    for batch in _batches(enumerate(file.lines(), 1)):
        numbers, records = [], []
        for number, line in batch:
            if line.strip():
                try:
                    record = json.loads(line)
                    if not isinstance(record, dict):
                        raise ValueError("no object")
                    records.append({key: cell(value) for key, value in record.items()})
                    numbers.append(number)
                except (ValueError, RecursionError, UserError):
                    tally.add(file.name, number, "not a JSON object")
        columns = list(dict.fromkeys(key for record in records for key in record))
        yield Chunk(numbers, {column: [record.get(column, "") for record in records] for column in columns})


def _parquet(path: Path) -> Iterator[Chunk]:
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            columns = {i: column for i, column in enumerate(file.schema_arrow.names) if not column.startswith(INDEX)}
            places = dict(zip(distinct_names(list(columns.values())), columns, strict=True))
            number = 1
            for batch in file.iter_batches(CHUNK_ROWS, use_threads=False):
                cells = {column: text_cells(batch.column(i)) for column, i in places.items()}
                yield Chunk(list(range(number, number + len(batch))), cells)
                number += len(batch)
    except (pyarrow.ArrowException, ValueError, OverflowError) as error:
        raise UserError(f"'{path.name}' is not a readable parquet file, or damaged after its first rows.") from error


def _batches(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(rows, CHUNK_ROWS)):
        yield batch


READERS: dict[str, Callable[[TextFile, Tally], Iterator[Chunk]]] = {
    "csv": lambda file, tally: _delimited(file, csv_rows(file), tally),
    "tsv": lambda file, tally: _delimited(file, tsv_rows(file), tally),
    "jsonl": _jsonl,
    "txt": _txt,
}
KINDS = ("parquet", *READERS, *(f"{kind}.gz" for kind in READERS))
