"""Read text tables: csv (any common delimiter), tsv (quoted or not), txt (one sentence per line), JSON (lines, or a list)."""

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from sbert_app.errors import UserError
from sbert_app.tables.collecting import Collector, first_row
from sbert_app.tables.decoding import TextFile
from sbert_app.tables.delimited import NO_DELIMITER, SNIFFED_LINES, Rows
from sbert_app.tables.table import LINE_COLUMN, Content, Form
from sbert_app.wording import amount, storable

BLANK_ROWS = 2_000_000  # consecutive; spreadsheets write up to 1,048,576 of them below a table
ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)


def read_txt(file: TextFile) -> Content:
    lines = Collector(file.name, file.limits, [LINE_COLUMN])
    for number, line in enumerate(file.lines(), 1):
        lines.add(number, [line.removesuffix("\n")])
    return lines.content(file.notes)


def without_blank_end(name: str, rows: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield the rows up to the last one that is not blank. Raises UserError for too many blank rows."""
    widths = array("L")  # of the blank rows since the last filled one
    for row in rows:
        if any(map(str.strip, row)):
            if widths:
                yield from ([""] * width for width in widths)
                widths = array("L")
            yield row
        elif len(widths) < BLANK_ROWS:
            widths.append(len(row))
        else:
            raise UserError(f"'{name}' has more than {BLANK_ROWS:,} consecutive blank rows. Delete them.")


def read_rows(rows_of: Callable[[TextFile], Rows], file: TextFile) -> Content:
    every_row = rows_of(file)
    header, notes, rows = with_header(file.name, every_row)
    table = Collector(file.name, file.limits, header)
    for number, row in enumerate(rows, 1):
        table.add(number, row)
    delimiter = "," if every_row.delimiter == NO_DELIMITER else every_row.delimiter
    return table.content([*file.notes, *notes, *every_row.notes], Form(delimiter, file.marked))


def with_header(name: str, every_row: Iterable[list[str]]) -> tuple[list[str], list[str], Iterator[Sequence[str]]]:
    """Find the header: (names of the columns, notes, the rows below as a stream). Raises UserError for a file without rows."""
    rows = without_blank_end(name, every_row)
    head = list(islice(rows, SNIFFED_LINES))
    start = first_row(head)
    if start is None:
        raise UserError(f"'{name}' has no rows. Choose a file with at least one sentence.")
    skipped = sum(map(any, head[:start]))
    notes = [f"{amount(skipped, 'line')} above the header left out."] if skipped else []
    header = [cell.strip() for cell in head[start]]
    named = any(header) and (all(map(_may_be_a_name, header)) or _asks(header, head[start + 1 :]))
    if not named:
        header = [LINE_COLUMN] if len(header) == 1 else [f"column_{i}" for i in range(1, len(header) + 1)]
        notes.append("No header row was found: the first row was read as data.")
    return header, notes, chain(head[start + named :], rows)


def _asks(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a few names of a header are questions, such as "same issue?": no cell is found again in the rows below."""
    named = all(_may_be_a_name(cell.removesuffix("?")) for cell in header) and 2 * sum(map(_may_be_a_name, header)) > len(header)
    return named and not any(cell == below.strip() for row in rows for cell, below in zip(header, row, strict=False))


def _may_be_a_name(cell: str) -> bool:
    """Whether a cell of the header can be there: short, and no number."""
    short = len(cell) <= 40 and len(cell.split()) <= 5 and not cell.endswith((".", "?", "!"))
    return short and not re.fullmatch(r"[-+]?\d+([.,]\d+)?", cell)


def read_jsonl(file: TextFile) -> Content:
    table = Records(file)
    for number, line in enumerate(file.lines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            table.skip(number, "not valid JSON")
        else:
            table.add_record(number, record)
    if not table.columns and table.skipped:
        raise UserError(f'\'{file.name}\' holds no valid JSON line. Each line must be one JSON object, such as {{"text": "…"}}.')
    return table.content(file.notes)


def read_json(file: TextFile) -> Content:
    try:
        content = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{file.name}' is not valid JSON ({error}). For one object a line, name the file .jsonl.") from error
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else [content]
    if not isinstance(content, list):
        raise UserError(f"'{file.name}' must hold a list of sentences or of objects.")
    table = Records(file)
    for number, record in enumerate(content, 1):
        table.add_record(number, record)
    return table.content(file.notes)


class Records(Collector):
    """A table whose columns are the keys of its records, in order of first occurrence."""

    def __init__(self, file: TextFile) -> None:
        super().__init__(file.name, file.limits)
        self._keys: dict[str, None] = {}

    def add_record(self, number: int, record: Any) -> None:
        """Keep an object, or any other value as the sentence."""
        values = record if isinstance(record, dict) else {LINE_COLUMN: record}
        new = [key for key in values if key not in self._keys]
        self._keys |= dict.fromkeys(new)
        self.grow(new)
        try:
            row = [cell(values.get(key)) for key in self._keys]
        except RecursionError:
            self.skip(number, "nested too deeply")
        else:
            self.add(number, row)


def cell(value: Any) -> str:
    if isinstance(value, str):
        return storable(value)
    if value is None or value != value:  # NaN is the one value that differs from itself
        return ""
    return storable(ENCODER.encode(value))
