"""The table that every format is read into: a frame of strings, the row numbers of the file, and the skipped rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sbert_app.wording import plural, row_list

if TYPE_CHECKING:  # the child process starts faster without it
    import pandas as pd

LINE_COLUMN = "text"  # the only column of a txt file, of pasted lines and of a JSON list of strings
CELL_BYTES = 57  # of a short string and the reference to it, without its characters


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
    rows: NDArray[np.int64]
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
    text_bytes: int = 0  # memory of the characters of all cells, counted while reading
    form: Form = SPREADSHEET

    @property
    def nbytes(self) -> int:
        """Approximate memory in bytes."""
        return self.text_bytes + CELL_BYTES * self.frame.size + self.rows.nbytes


def skipped_summary(skipped: Sequence[Skip]) -> list[str]:
    """One line per reason, such as "3 rows skipped, blank sentence: rows 4, 9, 12"."""
    counts = Counter(skip.reason for skip in skipped)
    return [
        f"{count:,} {plural(count, 'row', 'rows')} skipped, {reason}: {row_list([s.row for s in skipped if s.reason == reason])}"
        for reason, count in counts.most_common()
    ]
