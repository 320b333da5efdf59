"""Write csv files that no spreadsheet takes for formulas: the one writer of the page, the endpoints and the shell."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

BYTE_ORDER_MARK = "\ufeff"  # without it Excel takes UTF-8 for the local encoding
FORMULA = "=+-@−"  # what a formula begins with; full-width and small forms are folded into these
CONTROLS = ("\t", "\r", "\n")  # a cell that begins with one may be cut there
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")  # such as -0.5: no formula, and to be read back as it was
SPECIAL = re.compile(r'[",;|\t\r\n]')  # spreadsheets of other countries cut at semicolons


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """CSV with a header: the keys of all records. Cells and headers that a spreadsheet would run get an apostrophe before them."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows: list[list[Any]] = [columns, *([record.get(column) for column in columns] for record in records)]
    return "".join(",".join(map(_field, row)) + "\r\n" for row in rows)


def csv_file(records: Sequence[Mapping[str, Any]]) -> str:
    """What a csv file holds that a spreadsheet opens as it is meant; nothing for no records."""
    return BYTE_ORDER_MARK + to_csv(records) if records else ""


def guarded(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would run it."""
    return f"'{text}" if text.startswith(CONTROLS) or _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether the first visible character begins a formula, in any of its widths."""
    if NUMBER.fullmatch(text):
        return False
    first = next((character for character in text if not _is_invisible(character)), "")
    return unicodedata.normalize("NFKC", first)[:1] in tuple(FORMULA)


def _is_invisible(character: str) -> bool:
    """Blanks, controls, zero-width signs and marks that combine with nothing."""
    return character.isspace() or unicodedata.category(character)[0] in "CMZ"


def _field(value: Any) -> str:
    """A value as it stands in the file, quoted where it must be."""
    if value is None:
        return ""
    text = guarded(value) if isinstance(value, str) else str(value)
    return '"{}"'.format(text.replace('"', '""')) if SPECIAL.search(text) else text
