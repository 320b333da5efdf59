"""What every format becomes: a frame of strings, the file's row numbers, and what was left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits

LINE_COLUMN = "text"  # the only column of a txt file, of pasted lines and of a JSON list of strings


@dataclass(frozen=True)
class Skip:
    """A row that was left out. `row` counts from 1 without the header, as in a spreadsheet's data."""

    row: int
    reason: str


@dataclass(frozen=True)
class Table:
    """`frame` holds strings only, "" for a missing cell; `rows[i]` is the file's row number of `frame.iloc[i]`."""

    name: str
    frame: pd.DataFrame
    rows: NDArray[np.int64]
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def nbytes(self) -> int:
        """Bytes of memory that it holds, about."""
        return int(self.frame.memory_usage(deep=True).sum())


def table_from_rows(
    name: str,
    columns: Sequence[str],
    rows: Iterable[tuple[int, list[str]]],
    limits: Limits,
    notes: Sequence[str] = (),
    skipped: Sequence[Skip] = (),
) -> Table:
    """Keep the rows that fit the header; the others are skipped with a reason. Raises UserError where none is left."""
    if len(columns) > limits.columns:
        raise UserError(f"'{name}' has {len(columns):,} columns, the limit is {limits.columns}. Keep the ones you need.")
    width = len(columns)
    kept, numbers, skips = [], [], list(skipped)
    for number, row in rows:
        if len(row) == width:
            kept.append(row)
            numbers.append(number)
        elif any(cell.strip() for cell in row):
            skips.append(Skip(number, f"{len(row)} cells where the header has {width}"))
        else:
            skips.append(Skip(number, "blank"))
    check_rows(name, len(kept), limits)
    # A workbook or a parquet file can name one long text a million times: small on disk, and here until it is copied.
    check_unpacked(name, sum(len(cell) for row in kept for cell in row), limits)
    if not kept:
        raise UserError(f"'{name}' has a header but no rows. Choose a file with at least one sentence.")
    frame = pd.DataFrame(kept, columns=_distinct_names(columns), dtype=object)
    skips.sort(key=lambda skip: skip.row)
    return Table(name, frame, np.array(numbers, dtype=np.int64), tuple(skips), tuple(notes))


def _distinct_names(columns: Sequence[str]) -> list[str]:
    names: list[str] = []
    for i, column in enumerate(columns, 1):
        name = base = column.strip() or f"column_{i}"
        copy = 2
        while name in names:
            name, copy = f"{base}_{copy}", copy + 1
        names.append(name)
    return names


def check_unpacked(name: str, size: int, limits: Limits) -> None:
    if size > limits.unpacked_bytes:
        raise UserError(f"'{name}' unpacks to {size / MEGABYTE:,.0f} MB, the limit is {limits.unpacked_bytes / MEGABYTE:,.0f} MB.")


def check_rows(name: str, count: int, limits: Limits) -> None:
    if count > limits.rows:
        raise UserError(f"'{name}' has {count:,} rows, the limit is {limits.rows:,}. Split the file.")
