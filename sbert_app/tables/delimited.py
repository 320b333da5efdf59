"""Read text tables: csv (any common delimiter), tsv (quoted or not), txt (one sentence per line)."""

import csv
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from sbert_app.errors import UserError
from sbert_app.tables.collecting import Collector, long_cell
from sbert_app.tables.decoding import TextFile
from sbert_app.tables.table import LINE_COLUMN, Content, Form

DELIMITERS = "\t;|,"
NO_DELIMITER = "\x1f"  # occurs in no text: the file has one column
SNIFFED_LINES = 50
SNIFFED_CHARACTERS = 1_000_000
REGULAR_SHARE = 0.7
BLANK_ROWS = 2_000_000  # consecutive; spreadsheets write up to 1,048,576 of them below a table


def read_txt(file: TextFile) -> Content:
    lines = Collector(file.name, file.limits, [LINE_COLUMN])
    for number, line in enumerate(file.lines(), 1):
        lines.add(number, [line.removesuffix("\n")])
    return lines.content(file.notes)


def read_csv(file: TextFile) -> Content:
    """Read cells delimited by comma, semicolon, tab, bar, or as an Excel line such as `sep=;` states."""
    delimiter = _stated(file) or _delimiter(file)
    form = Form("," if delimiter == NO_DELIMITER else delimiter, file.marked)
    return replace(_read_rows(file, csv_rows(file)), form=form)


def read_tsv(file: TextFile) -> Content:
    """Read tsv, quoted only if `_quotes`: in most files a stray quotation mark must not swallow the next lines."""
    return replace(_read_rows(file, tsv_rows(file)), form=Form("\t", file.marked))


def csv_rows(file: TextFile) -> Iterator[list[str]]:
    """The cells of each line of a csv file, header and all, as a stream. Raises UserError where it is no table."""
    stated = _stated(file)
    return _csv_rows(file, islice(file.lines(""), int(bool(stated)), None), stated or _delimiter(file))


def _stated(file: TextFile) -> str:
    """The delimiter that the first line states for Excel, "" if it states none."""
    separator = re.fullmatch(r'sep=([^"\r\n])\s*', next(file.lines(""), ""))
    return separator[1] if separator else ""


def tsv_rows(file: TextFile) -> Iterator[list[str]]:
    """The cells of each line of a tsv file, header and all, as a stream."""
    return _csv_rows(file, file.lines(""), "\t") if _quotes(file) else _tab_rows(file)


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


def _tab_rows(file: TextFile) -> Iterator[list[str]]:
    return (line.removesuffix("\n").split("\t") for line in file.lines())


def _quotes(file: TextFile) -> bool:
    """Whether the cells of a tsv are quoted: each opening quotation mark is closed in its cell, or lines differ in width."""
    widths: set[int] = set()
    opened = closed = 0
    for row in _tab_rows(file):
        if row != [""]:
            widths.add(len(row))
        quoted = [cell for cell in row if cell.startswith('"')]
        opened += len(quoted)
        closed += sum(1 for cell in quoted if len(cell) > 1 and cell.endswith('"'))
    return opened > 0 and (len(widths) > 1 or opened == closed)


def _delimiter(file: TextFile) -> str:
    """The delimiter that most lines contain equally often, else the most frequent one of the first line, else none.

    Of several, prefer one that is as frequent in the first line, then the most frequent one: a column of amounts such as 3,50
    makes the comma as regular as the semicolon between the columns.
    """
    lines = [re.sub(r'"[^"]*"', "", line) for line in _first_lines(file) if line.strip()]
    if not lines:
        return NO_DELIMITER
    regular: dict[str, tuple[bool, int]] = {}
    for sign in DELIMITERS:
        usual, regular_lines = Counter(line.count(sign) for line in lines).most_common(1)[0]
        if usual and regular_lines >= len(lines) * REGULAR_SHARE:
            regular[sign] = lines[0].count(sign) == usual, usual
    if regular:
        return max(regular, key=regular.__getitem__)
    best = max(DELIMITERS, key=lines[0].count)
    return best if best in lines[0] else NO_DELIMITER


def _first_lines(file: TextFile) -> Iterator[str]:
    remaining = SNIFFED_CHARACTERS
    for line in islice(file.lines(), SNIFFED_LINES):
        if remaining <= 0:
            return
        yield line[:remaining].removesuffix("\n")
        remaining -= len(line)


def _csv_rows(file: TextFile, lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(file.limits.cell_characters)
    reader, line = csv.reader(lines, delimiter=delimiter), 0
    try:
        for row in reader:
            yield row
            line = reader.line_num
    except csv.Error as error:
        if "field limit" in str(error):
            raise UserError(long_cell(file.name, f"the row that begins in line {line + 1:,}", file.limits)) from error
        raise UserError(f"'{file.name}' cannot be read as a table ({error}). Export it again as CSV.") from error


def _read_rows(file: TextFile, every_row: Iterator[list[str]]) -> Content:
    header, notes, rows = with_header(file.name, every_row)
    table = Collector(file.name, file.limits, header)
    for number, row in enumerate(rows, 1):
        table.add(number, row)
    return table.content([*file.notes, *notes])


def with_header(name: str, every_row: Iterable[list[str]]) -> tuple[list[str], list[str], Iterator[Sequence[str]]]:
    """Find the header: (names of the columns, notes, the rows below as a stream). Raises UserError for a file without rows."""
    rows = without_blank_end(name, every_row)
    head = list(islice(rows, SNIFFED_LINES))
    start = _first_row(head)
    if start is None:
        raise UserError(f"'{name}' has no rows. Choose a file with at least one sentence.")
    notes = []
    skipped = sum(1 for row in head[:start] if any(row))
    if skipped:
        notes.append(f"{skipped} {'line' if skipped == 1 else 'lines'} above the header left out.")
    header = [cell.strip() for cell in head[start]]
    named = _looks_like_header(header)
    if not named:
        header = [LINE_COLUMN] if len(header) == 1 else [f"column_{i}" for i in range(1, len(header) + 1)]
        notes.append("No header row was found: the first row was read as data.")
    return header, notes, chain(head[start + named :], rows)


def _first_row(rows: Sequence[Sequence[str]]) -> int | None:
    """The index of the first row of the table. A title above it is shorter than the rows, or fills one cell of three or more."""
    filled = [sum(1 for cell in row if cell.strip()) for row in rows]
    usual = Counter(len(row) for row in rows if any(row)).most_common(1)
    width = usual[0][0] if usual else 0
    least = 2 if width >= 3 else 1
    fitting = (i for i, count in enumerate(filled) if count >= least and len(rows[i]) == width)
    return next(fitting, next((i for i, count in enumerate(filled) if count), None))


def _looks_like_header(cells: list[str]) -> bool:
    """Whether the cells can be column names: short, and no numbers."""
    names = [cell for cell in cells if cell]
    short = all(len(name) <= 40 and len(name.split()) <= 5 and not name.endswith((".", "?", "!")) for name in names)
    numeric = any(re.fullmatch(r"[-+]?\d+([.,]\d+)?", name) for name in names)
    return bool(names) and short and not numeric
