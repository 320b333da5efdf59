"""Collect rows into columns while reading. Beyond a limit rows are only counted, and after a second reading ends."""

import json
import math
import time
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from sys import getsizeof
from typing import Any, Self

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.table import METADATA, ROWS, SPREADSHEET, Content, Form, Skip
from sbert_app.wording import storable

CHUNK_ROWS = 4096
CHUNK_CHARACTERS = 4_000_000
EMPTY = getsizeof("")
COUNTING_SECONDS = 1.0  # of counting beyond a limit, since the number shows into how many parts to split the file


class Collector:
    """Collect rows of strings under the names of their columns. Raises UserError at the limits."""

    def __init__(self, name: str, limits: Limits, columns: Iterable[str] = ()) -> None:
        self.name, self.limits, self.columns = name, limits, list(columns)
        self.skipped: list[Skip] = []
        self._chunk: list[Sequence[str]] = []  # rows not yet turned into columns
        self._numbers: list[int] = []
        self._chunk_characters = 0
        self._batches: list[list[Any]] = []  # the columns of each chunk
        self._rows: list[int] = []
        self._row_count = self._text_bytes = 0
        self._stop = math.inf  # when to stop counting beyond a limit
        self._check_columns()

    def add(self, number: int, row: Sequence[str]) -> None:
        """Keep a row that has a cell for each column; skip any other with a reason."""
        if len(row) == len(self.columns):
            self._keep(number, row)
        else:
            filled = any(map(str.strip, row))
            self.skip(number, f"{len(row)} cells where the header has {len(self.columns)}" if filled else "blank")

    def add_any(self, number: int, row: Sequence[str]) -> None:
        """Keep a row of any length: a short one is filled with blank cells, a long one adds columns without a name."""
        if len(row) > len(self.columns):
            self.grow([""] * (len(row) - len(self.columns)))
        self._keep(number, row)

    def filled(self, rows: Iterable[Sequence[str]], any_length: bool = False) -> Self:
        """With these rows, numbered from 1, by `add` or `add_any`."""
        for number, row in enumerate(rows, 1):
            (self.add_any if any_length else self.add)(number, row)
        return self

    def grow(self, columns: Iterable[str]) -> None:
        """Add columns, blank in the rows so far."""
        self.columns += columns
        self._check_columns(at_least=True)

    def skip(self, number: int, reason: str) -> None:
        self.skipped.append(Skip(number, reason))
        if len(self.skipped) > max(self.limits.rows, 1_000):
            raise UserError(
                f"'{self.name}' has more than {len(self.skipped) - 1:,} rows that cannot be read, the first is row "
                f"{self.skipped[0].row:,}: {self.skipped[0].reason}. Export it again as CSV UTF-8."
            )

    def content(self, notes: Sequence[str] = (), form: Form = SPREADSHEET) -> Content:
        """The collected rows. Raises UserError if there are none."""
        import pyarrow

        self._flush()
        self._check_size()
        if not self._row_count:
            raise UserError(f"'{self.name}' has a header but no rows. Choose a file with at least one sentence.")
        if not self.columns:
            raise UserError(f"'{self.name}' has rows without any value. Choose a file with at least one sentence.")
        for batch in self._batches:  # columns that came later are blank
            batch += [pyarrow.repeat("", len(batch[0]))] * (len(self.columns) - len(batch))
        columns = [pyarrow.chunked_array(parts) for parts in zip(*self._batches, strict=True)]
        rows = pyarrow.array(self._rows, pyarrow.int64())
        skipped = sorted((skip.row, skip.reason) for skip in self.skipped)
        metadata = {"name": self.name, "skipped": skipped, "notes": notes, "text_bytes": self._text_bytes, "form": form}
        return pyarrow.table([*columns, rows], [*distinct_names(self.columns), ROWS], metadata={METADATA: json.dumps(metadata)})

    def _keep(self, number: int, row: Sequence[str]) -> None:
        self._numbers.append(number)
        self._chunk.append(row)
        self._chunk_characters += sum(map(len, row))
        if len(self._chunk) >= CHUNK_ROWS or self._chunk_characters > CHUNK_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        """Turn the rows of the chunk into columns, or only count them if a limit is exceeded."""
        columns = list(zip_longest(*self._chunk, fillvalue=""))
        self._row_count += len(self._chunk)
        self._text_bytes += sum(sum(map(getsizeof, column)) - EMPTY * len(column) for column in columns)
        try:
            self._check_size()
        except UserError:
            self._stop = min(self._stop, time.monotonic() + COUNTING_SECONDS)
            if time.monotonic() > self._stop:
                self._check_size("more than ")
        else:
            self._store(columns)
        self._chunk, self._numbers, self._chunk_characters = [], [], 0

    def _store(self, columns: Sequence[Sequence[str]]) -> None:
        most = self.limits.cell_characters
        for column in columns:
            if max(map(len, column)) > most:
                number = next(number for number, cell in zip(self._numbers, column, strict=True) if len(cell) > most)
                raise UserError(long_cell(self.name, f"row {number:,}", self.limits))
        self._rows += self._numbers
        if self._chunk:
            self._batches.append([_texts(column) for column in columns] or [_texts([""] * len(self._chunk))])

    def _check_size(self, least: str = "") -> None:
        cells = self._row_count * len(self.columns)
        check_size(self.name, self.limits, least, rows=self._row_count, unpacked=self._text_bytes, cells=cells)

    def _check_columns(self, at_least: bool = False) -> None:
        most = self.limits.columns
        if len(self.columns) > most:
            if self._row_count > self.limits.rows:  # the first fault; rows are counted on to tell how many
                self._check_size("more than ")
            count = f"more than {most:,}" if at_least else f"{len(self.columns):,}"
            raise UserError(f"'{self.name}' has {count} columns, the limit is {most:,}. Keep the ones you need.")


def check_size(name: str, limits: Limits, least: str = "", rows: int = 0, unpacked: int = 0, cells: int = 0) -> None:
    """Raise UserError beyond a limit. `least`: "more than " if counting ended before the file did. unpacked: bytes."""
    if rows > limits.rows:
        raise UserError(f"'{name}' has {least}{rows:,} rows, the limit is {limits.rows:,}. Split the file.")
    if unpacked > limits.unpacked_bytes:
        size, limit = unpacked / MEGABYTE, limits.unpacked_bytes / MEGABYTE
        raise UserError(f"'{name}' unpacks to {least}{size:,.0f} MB, the limit is {limit:,.0f} MB. Split the file.")
    if cells > limits.cells:
        raise UserError(
            f"'{name}' has {least}{cells:,} cells, the limit is {limits.cells:,}. "
            "Keep only the columns you need, or split the file."
        )


def long_cell(name: str, place: str, limits: Limits) -> str:
    return (
        f"'{name}' has a cell of more than {limits.cell_characters:,} characters in {place}. "
        "Look for a quotation mark that is never closed, or cut the text."
    )


def distinct_names(columns: Sequence[str]) -> list[str]:
    """Names that can be stored: blank and repeated ones are numbered."""
    names: dict[str, None] = {}
    for i, column in enumerate(columns, 1):
        name = base = storable(column).strip() or f"column_{i}"
        copy = 2
        while name in names:
            name, copy = f"{base}_{copy}", copy + 1
        names[name] = None
    return list(names)


def _texts(column: Sequence[str]) -> Any:
    """A column as an Arrow array, without lone surrogates."""
    import pyarrow

    try:
        return pyarrow.array(column, pyarrow.string())
    except UnicodeEncodeError:  # lone surrogates
        return pyarrow.array([storable(cell) for cell in column], pyarrow.string())
