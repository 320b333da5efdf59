"""The table that every format is read into: a frame of strings, row numbers of the file, skipped rows; and how to write csv."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sbert_app.vectors import Integers
from sbert_app.wording import amount, row_list

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

Content: TypeAlias = "pyarrow.Table"  # what a reader gives: columns of strings, `ROWS` and, under `METADATA`, the rest as JSON
LINE_COLUMN = "text"  # the only column of a txt file, of pasted lines and of a JSON list of strings
CELL_BYTES = 57  # of a short string and the reference to it, without its characters
SHEET = "sheet"  # the column that is added where several sheets of a workbook are read: the title of a row's sheet
ROWS = ""  # the column of row numbers; no other column has a blank name
METADATA = b"sbert"
BYTE_ORDER_MARK = "\ufeff"  # without it Excel reads UTF-8 as the local encoding
FORMULA = "=+-@−"  # first characters of a formula; full-width and small forms are normalised to these
CONTROLS = ("\t", "\r", "\n")  # at the start of a cell, a spreadsheet may cut there
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?")  # such as -0.5: no formula, and must be read back unchanged
SPECIAL = re.compile(r'[",;|\t\r\n]')  # spreadsheets of some countries split at semicolons


@dataclass(frozen=True, slots=True)
class Skip:
    """A skipped row. `row` counts from 1 without the header."""

    row: int
    reason: str


class Form(NamedTuple):
    """How a file separates its cells, and whether it begins with a byte-order mark; by default as spreadsheets read it best."""

    delimiter: str = ","
    marked: bool = True


SPREADSHEET = Form()


@dataclass(frozen=True)
class Table:
    """`frame` holds strings only, "" for a missing cell; `rows[i]` is the file's row number of `frame.iloc[i]`."""

    name: str
    frame: "pd.DataFrame"
    rows: Integers
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
    text_bytes: int = 0  # memory of the characters of all cells, counted while reading
    form: Form = SPREADSHEET

    @classmethod
    def of(cls, content: Content) -> "Table":
        import pandas as pd

        frame = pd.DataFrame({name: content[name].to_numpy() for name in content.column_names if name != ROWS}, dtype=object)
        told: dict[str, Any] = json.loads(content.schema.metadata[METADATA])
        skipped, notes, form = tuple(Skip(*skip) for skip in told["skipped"]), tuple(told["notes"]), Form(*told["form"])
        return cls(told["name"], frame, content[ROWS].to_numpy(), skipped, notes, told["text_bytes"], form)

    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes."""
        return self.text_bytes + CELL_BYTES * self.frame.size + self.rows.nbytes


def skipped_summary(skipped: Sequence[Skip]) -> list[str]:
    """One line per reason, such as "3 rows skipped, blank sentence: rows 4, 9, 12"."""
    return [
        f"{amount(count, 'row')} skipped, {reason}: {row_list([s.row for s in skipped if s.reason == reason])}"
        for reason, count in Counter(skip.reason for skip in skipped).most_common()
    ]


def to_csv(records: Sequence[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Format records as csv; the header has the keys of all records. All texts are `guarded`."""
    columns = list(dict.fromkeys(key for record in records for key in record))
    rows: list[list[Any]] = [columns, *([record.get(column) for column in columns] for record in records)]
    return "".join(delimiter.join(_field(value, delimiter) for value in row) + "\r\n" for row in rows)


def csv_file(records: Sequence[Mapping[str, Any]], delimiter: str = ",") -> str:
    """The content of a csv file, with a byte-order mark for Excel; "" for no records. delimiter: that of the file it is made of."""
    return BYTE_ORDER_MARK + to_csv(records, delimiter) if records else ""


def guarded(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula."""
    if NUMBER.fullmatch(text):
        return text
    # The first visible character tells, in any of its widths: not blanks, controls, zero-width characters and combining marks.
    first = next((letter for letter in text if not letter.isspace() and unicodedata.category(letter)[0] not in "CMZ"), "")
    runs = text.startswith(CONTROLS) or unicodedata.normalize("NFKC", first)[:1] in tuple(FORMULA)
    return f"'{text}" if runs else text


def _field(value: Any, delimiter: str) -> str:
    if value is None:
        return ""
    text = guarded(value) if isinstance(value, str) else str(value)
    return '"{}"'.format(text.replace('"', '""')) if delimiter in text or SPECIAL.search(text) else text
