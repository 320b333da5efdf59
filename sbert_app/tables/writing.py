"""Write csv for the page, the endpoints and the shell, guarded against formula injection in spreadsheets."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

BYTE_ORDER_MARK = "\ufeff"  # without it Excel reads UTF-8 as the local encoding
FORMULA = "=+-@−"  # first characters of a formula; full-width and small forms are normalised to these
CONTROLS = ("\t", "\r", "\n")  # at the start of a cell, a spreadsheet may cut there
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")  # such as -0.5: no formula, and must be read back unchanged
SPECIAL = re.compile(r'[",;|\t\r\n]')  # spreadsheets of some countries split at semicolons


def to_csv(records: Sequence[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Format records as csv; the header has the keys of all records. All texts are `guarded`."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows: list[list[Any]] = [columns, *([record.get(column) for column in columns] for record in records)]
    return "".join(delimiter.join(_field(value, delimiter) for value in row) + "\r\n" for row in rows)


def csv_file(records: Sequence[Mapping[str, Any]]) -> str:
    """The content of a csv file, with a byte-order mark for Excel; "" for no records."""
    return BYTE_ORDER_MARK + to_csv(records) if records else ""


def guarded(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    return f"'{text}" if text.startswith(CONTROLS) or _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether the first visible character begins a formula, in any of its widths."""
    if NUMBER.fullmatch(text):
        return False
    first = next((character for character in text if not _is_invisible(character)), "")
    return unicodedata.normalize("NFKC", first)[:1] in tuple(FORMULA)


def _is_invisible(character: str) -> bool:
    """Whether a character is a blank, a control, zero-width, or a combining mark."""
    return character.isspace() or unicodedata.category(character)[0] in "CMZ"


def _field(value: Any, delimiter: str) -> str:
    """Format a value as a csv field, quoted if necessary."""
    if value is None:
        return ""
    text = guarded(value) if isinstance(value, str) else str(value)
    return '"{}"'.format(text.replace('"', '""')) if delimiter in text or SPECIAL.search(text) else text
