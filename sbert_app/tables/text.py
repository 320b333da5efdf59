"""Read text tables: csv (any common delimiter), tsv (quoted or not), txt (a sentence a line, wrapped prose, or a table), JSON.

Of JSON, in lines or as one document, the records become rows, and the keys of an object within a record columns of their own.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

from sbert_app.errors import UserError
from sbert_app.tables.collecting import Collector
from sbert_app.tables.decoding import TextFile
from sbert_app.tables.delimited import NO_DELIMITER, Rows, tsv_rows
from sbert_app.tables.header import NO_HEADER, SNIFFED_LINES, with_header
from sbert_app.tables.table import LINE_COLUMN, Content, Form
from sbert_app.wording import storable

TABLE_SHARE = 0.9  # of the first lines with the same number of tabs
AS_TABLE = "Read as a table, since tabs separate its columns."
WRAPPED = "Each paragraph is a row, since its lines are wrapped."
PROSE_LINES, PARAGRAPH_LINES = 1_000, 1_000  # looked at, to see whether they are prose; joined at most
WIDTHS = range(30, 140)  # characters of a wrapped line
ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
DEPTH = 3  # how deep objects within a record, and lists of records within a document, are looked into
SETS = ["set"], ["texts"]  # the keys of a record that holds only texts that belong together
ONE_RECORD = "The file holds one object, which was read as one record. If its rows are in a list, save that list alone."


def read_txt(file: TextFile) -> Content:
    if is_table(file):
        return read_rows(tsv_rows, file, AS_TABLE)
    texts, wrapped = texts_of(file)
    rows = ([text] for text in texts)
    return Collector(file.name, file.limits, [LINE_COLUMN]).filled(rows).content([*file.notes, *([WRAPPED] if wrapped else [])])


def is_table(file: TextFile) -> bool:
    """Whether the lines of a text file have cells between tabs."""
    tabs = [line.count("\t") for line in islice(file.lines(), SNIFFED_LINES) if line.strip()]
    ((usual, count),) = Counter(tabs).most_common(1) or [(0, 0)]
    return usual > 0 and len(tabs) > 1 and count >= TABLE_SHARE * len(tabs)


def texts_of(file: TextFile) -> tuple[Iterator[str], bool]:
    """The lines of a file, or its paragraphs where it is prose in wrapped lines; and whether it is."""
    lines = (line.removesuffix("\n") for line in file.lines())
    wrapped = _is_wrapped(islice(file.lines(), PROSE_LINES))
    return _paragraphs(lines) if wrapped else lines, wrapped


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    for blank, block in groupby(lines, lambda line: not line.strip()):
        while not blank and (part := list(islice(block, PARAGRAPH_LINES))):
            yield " ".join(map(str.strip, part))


def _is_wrapped(lines: Iterable[str]) -> bool:
    """Whether lines are those of paragraphs: most are nearly as long as the longest, but the last of each is shorter."""
    paragraphs = [list(map(len, map(str.strip, block))) for blank, block in groupby(lines, str.isspace) if not blank]
    inner = sorted(length for paragraph in paragraphs for length in paragraph[:-1])
    last = [paragraph[-1] for paragraph in paragraphs if len(paragraph) > 1]
    if len(last) < 3 or len(inner) < 6:
        return False
    width = inner[len(inner) * 9 // 10]
    return width in WIDTHS and width < 1.25 * inner[len(inner) // 5] and sum(last) / len(last) < 0.75 * width


def read_rows(rows_of: Callable[[TextFile], Rows], file: TextFile, *remarks: str) -> Content:
    every_row = rows_of(file)
    header, notes, rows = with_header(file.name, every_row)
    ragged = every_row.delimiter == "\t" and NO_HEADER in notes  # as published sets are; no text holds a tab
    table = Collector(file.name, file.limits, header).filled(rows, any_length=ragged)
    delimiter = "," if every_row.delimiter == NO_DELIMITER else every_row.delimiter
    return table.content([*file.notes, *remarks, *notes, *every_row.notes], Form(delimiter, file.marked))


def read_jsonl(file: TextFile) -> Content:
    if _list_of(_parsed(next(filter(str.strip, file.lines()), ""))) is not None:
        return _of_lists(file, _rows(map(_parsed, filter(str.strip, file.lines()))))
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
        example = '{"text": "…"}'
        raise UserError(
            f"'{file.name}' holds no valid JSON line. Each line must be one JSON object, such as {example}; "
            "if the file is one list, name it .json."
        )
    return table.content(file.notes)


def read_json(file: TextFile) -> Content:
    try:
        content = json.loads(file.read())
    except (ValueError, RecursionError) as error:
        raise UserError(f"'{file.name}' is not valid JSON ({error}). For one object a line, name the file .jsonl.") from error
    records = _records(content) if isinstance(content, dict) else content
    if not isinstance(records, list):
        raise UserError(f"'{file.name}' must hold a list of sentences or of objects.")
    if records and all(isinstance(record, list) for record in records):
        header, notes, rows = with_header(file.name, _rows(records))  # of a sheet
        return _of_lists(file, rows, header, notes)
    if records and isinstance(records[0], dict) and _list_of(records[0]) is not None:
        return _of_lists(file, _rows(records))
    table = Records(file)
    for number, record in enumerate(records, 1):
        table.add_record(number, record)
    return table.content([*file.notes, *([ONE_RECORD] if records == [content] else [])])


def _records(content: Mapping[str, Any]) -> list[Any]:
    """The records of an object: in its only list of objects, in its columns, under its keys, or in its only list; else itself."""
    values = [*content.values()]
    if isinstance(content.get("columns"), list) and isinstance(content.get("data"), list):  # as pandas splits a table
        return [dict(zip(map(str, content["columns"]), row, strict=False)) for row in content["data"] if isinstance(row, list)]
    if len(lists := list(_lists_of_objects(content, DEPTH))) == 1:
        return lists[0]
    if len(values) > 1 and all(isinstance(value, list) for value in values) and len({*map(len, values)}) == 1:
        return [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    if len(values) > 1 and all(isinstance(value, dict) and value for value in values):
        if all([*value] == [*values[0]] for value in values) and "0" in values[0]:  # columns of pandas
            return [dict(zip(content, row, strict=True)) for row in zip(*(value.values() for value in values), strict=True)]
        if set(values[0]).intersection(*values):
            return [{"id": key} | value for key, value in content.items()]
    plain = [value for value in values if isinstance(value, list)]
    return plain[0] if len(plain) == 1 else [content]


def _lists_of_objects(content: Mapping[str, Any], depth: int) -> Iterator[list[Any]]:
    """The lists of objects in an object, or else in those within it."""
    found = [value for value in content.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    yield from found
    for value in content.values() if depth and not found else ():
        if isinstance(value, dict):
            yield from _lists_of_objects(value, depth - 1)


def _list_of(record: Any) -> list[Any] | None:
    """The list that a record is, or that an object holds under the only key of one of SETS; None of any other."""
    if isinstance(record, dict) and [*record] in SETS:
        (record,) = record.values()
    return record if isinstance(record, list) else None


def _of_lists(file: TextFile, rows: Iterable[Sequence[str]], header: Sequence[str] = (), notes: Sequence[str] = ()) -> Content:
    return Collector(file.name, file.limits, header).filled(rows, any_length=True).content([*file.notes, *notes])


def _parsed(line: str) -> Any:
    """The value of a line, or the line where it is not valid JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line.strip()


def _rows(records: Iterable[Any]) -> Iterator[list[str]]:
    """The cells of records that are lists; of texts that belong together, the first with each other one."""
    for record in records:
        texts = _list_of(record)
        if texts and isinstance(record, dict):
            yield from ([cell(texts[0]), cell(other)] for other in texts[1:])
        else:
            yield [cell(value) for value in ([record] if texts is None else texts)]


class Records(Collector):
    """A table whose columns are the keys of its records, in order of first occurrence."""

    def __init__(self, file: TextFile) -> None:
        super().__init__(file.name, file.limits)
        self._keys: dict[str, None] = {}

    def add_record(self, number: int, record: Any) -> None:
        """Keep an object, or any other value as the sentence."""
        values = dict(_flat(record, DEPTH)) if isinstance(record, dict) else {LINE_COLUMN: record}
        if len(self._keys | values.keys()) > self.limits.columns and isinstance(record, dict):
            values = record
        new = [key for key in values if key not in self._keys]
        self._keys |= dict.fromkeys(new)
        self.grow(new)
        try:
            row = [cell(values.get(key)) for key in self._keys]
        except UserError:
            self.skip(number, "nested too deeply")
        else:
            self.add(number, row)


def _flat(record: Mapping[str, Any], depth: int, before: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    """The values of an object and of those within it, under names such as source.body."""
    for key, value in record.items():
        if depth and isinstance(value, dict) and value:
            yield from _flat(value, depth - 1, (*before, key))
        else:
            yield ".".join((*before, key)), value


def cell(value: Any) -> str:
    """A value as text. Raises UserError for one that is nested too deeply."""
    if isinstance(value, str):
        return storable(value)
    if value is None or value != value:  # NaN is the one value that differs from itself
        return ""
    try:
        return storable(ENCODER.encode(value))
    except RecursionError:
        raise UserError("The file holds values that are nested too deeply for a table. Save its texts alone.") from None
