"""Text tables: csv (any common delimiter), tsv (quoted or not), txt (one sentence a line)."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.decoding import lines_of
from sbert_app.tables.table import LINE_COLUMN, Table, table_from_rows

DELIMITERS = "\t;|,"
NO_DELIMITER = "\x1f"  # a sign no text holds: the file has one column
SNIFFED_LINES = 50
SNIFFED_CHARACTERS = 1_000_000
REGULAR_SHARE = 0.7


def read_txt(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    lines = [(number, [line]) for number, line in enumerate(lines_of(text), 1)]
    return table_from_rows(name, [LINE_COLUMN], lines, limits, notes)


def read_csv(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    """Comma, semicolon, tab or bar; an Excel line such as `sep=;` is honoured."""
    first, _, rest = text.partition("\n")
    stated = re.fullmatch(r"sep=(.)\s*", first)
    if stated:
        return _read_rows(name, _csv_rows(name, rest, stated.group(1)), limits, notes)
    return _read_rows(name, _csv_rows(name, text, _delimiter(text)), limits, notes)


def read_tsv(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    """Most tsv files do not quote: a stray quotation mark must not swallow the lines after it."""
    plain = [line.split("\t") for line in lines_of(text)]
    ragged = len({len(row) for row in plain if row != [""]}) > 1
    quoted = [cell for row in plain for cell in row if cell.startswith('"')]
    if quoted and (ragged or all(len(cell) > 1 and cell.endswith('"') for cell in quoted)):
        return _read_rows(name, _csv_rows(name, text, "\t"), limits, notes)
    return _read_rows(name, plain, limits, notes)


def _delimiter(text: str) -> str:
    """The sign that most lines hold equally often; where none does, the one in the first line; else none at all.

    Of several, the one that the first line holds as often as the others, then the most frequent: a column of amounts
    such as 3,50 makes the comma as regular as the semicolon between the columns.
    """
    lines = [re.sub(r'"[^"]*"', "", line) for line in lines_of(text[:SNIFFED_CHARACTERS])[:SNIFFED_LINES] if line.strip()]
    if not lines:
        return NO_DELIMITER
    regular: dict[str, tuple[bool, int]] = {}
    for sign in DELIMITERS:
        usual, lines_with_it = Counter(line.count(sign) for line in lines).most_common(1)[0]
        if usual and lines_with_it >= len(lines) * REGULAR_SHARE:
            regular[sign] = lines[0].count(sign) == usual, usual
    if regular:
        return max(regular, key=regular.__getitem__)
    best = max(DELIMITERS, key=lines[0].count)
    return best if best in lines[0] else NO_DELIMITER


def _csv_rows(name: str, text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(max(len(text), 131_072))  # the default refuses a long cell
    try:
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise UserError(f"'{name}' cannot be read as a table ({error}). Export it again as CSV.") from error


def _read_rows(name: str, rows: list[list[str]], limits: Limits, notes: Sequence[str]) -> Table:
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    start = _first_row(rows)
    if start is None:
        raise UserError(f"'{name}' has no rows. Choose a file with at least one sentence.")
    skipped = sum(1 for row in rows[:start] if any(row))
    if skipped:
        notes = [*notes, f"{skipped} {'line' if skipped == 1 else 'lines'} above the header left out."]
    header = [cell.strip() for cell in rows[start]]
    if _looks_like_header(header):
        return table_from_rows(name, header, enumerate(rows[start + 1 :], 1), limits, notes)
    columns = [LINE_COLUMN] if len(header) == 1 else [f"column_{i}" for i in range(1, len(header) + 1)]
    notes = [*notes, "No header row was found: the first row was read as data."]
    return table_from_rows(name, columns, enumerate(rows[start:], 1), limits, notes)


def _first_row(rows: list[list[str]]) -> int | None:
    """Where the table begins: a title above it is shorter than the rows below, or fills one cell of three or more."""
    filled = [sum(1 for cell in row if cell.strip()) for row in rows[:SNIFFED_LINES]]
    usual = Counter(len(row) for row in rows[:SNIFFED_LINES] if any(row)).most_common(1)
    width = usual[0][0] if usual else 0
    wanted = 2 if width >= 3 else 1
    fitting = (i for i, count in enumerate(filled) if count >= wanted and len(rows[i]) == width)
    return next(fitting, next((i for i, count in enumerate(filled) if count), None))


def _looks_like_header(cells: list[str]) -> bool:
    """Names are short and no numbers."""
    names = [cell for cell in cells if cell]
    short = all(len(name) <= 40 and len(name.split()) <= 5 and not name.endswith((".", "?", "!")) for name in names)
    numeric = any(re.fullmatch(r"[-+]?\d+([.,]\d+)?", name) for name in names)
    return bool(names) and short and not numeric
