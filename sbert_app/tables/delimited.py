"""Text tables: csv (any common delimiter), tsv (quoted or not), txt (one sentence a line)."""

import csv
import io
import re
from collections.abc import Sequence

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.decoding import lines_of
from sbert_app.tables.table import LINE_COLUMN, Table, table_from_rows

DELIMITERS = ",;\t|"


def read_txt(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    lines = [(number, [line]) for number, line in enumerate(lines_of(text), 1)]
    return table_from_rows(name, [LINE_COLUMN], lines, limits, notes)


def read_csv(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    first = text.lstrip().partition("\n")[0]
    delimiter = max(DELIMITERS, key=re.sub(r'"[^"]*"', "", first).count)
    return _read_delimited(name, _csv_rows(name, text, delimiter), limits, notes)


def read_tsv(name: str, text: str, limits: Limits, notes: Sequence[str]) -> Table:
    """Most tsv files do not quote: a stray quotation mark must not swallow the lines after it."""
    plain = [line.split("\t") for line in lines_of(text) if line]
    ragged = any(len(row) != len(plain[0]) for row in plain)
    quoted = [cell for row in plain for cell in row if cell.startswith('"')]
    if quoted and (ragged or all(len(cell) > 1 and cell.endswith('"') for cell in quoted)):
        return _read_delimited(name, _csv_rows(name, text, "\t"), limits, notes)
    return _read_delimited(name, plain, limits, notes)


def _csv_rows(name: str, text: str, delimiter: str) -> list[list[str]]:
    csv.field_size_limit(max(len(text), 131_072))  # the default refuses a long cell
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        raise UserError(f"'{name}' cannot be read as a table ({error}). Export it again as CSV.") from error


def _read_delimited(name: str, rows: list[list[str]], limits: Limits, notes: Sequence[str]) -> Table:
    if not rows:
        raise UserError(f"'{name}' has no rows. Choose a file with at least one sentence.")
    header = [cell.strip() for cell in rows[0]]
    if _looks_like_header(header):
        return table_from_rows(name, header, enumerate(rows[1:], 1), limits, notes)
    columns = [LINE_COLUMN] if len(header) == 1 else [f"column_{i}" for i in range(1, len(header) + 1)]
    notes = [*notes, "No header row was found: the first row was read as data."]
    return table_from_rows(name, columns, enumerate(rows, 1), limits, notes)


def _looks_like_header(cells: list[str]) -> bool:
    """Names are short, filled, different, and no numbers."""
    names = [cell for cell in cells if cell]
    short = all(len(name) <= 40 and len(name.split()) <= 5 and not name.endswith((".", "?", "!")) for name in names)
    numeric = any(re.fullmatch(r"[-+]?\d+([.,]\d+)?", name) for name in names)
    return bool(names) and short and not numeric and len(set(names)) == len(names)
