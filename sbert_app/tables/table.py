"""The table that every format is read into: a frame of strings, the row numbers of the file, and the skipped rows."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sbert_app.wording import plural, row_list

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow

LINE_COLUMN = "text"  # the only column of a txt file, of pasted lines and of a JSON list of strings
CELL_BYTES = 57  # of a short string and the reference to it, without its characters
ROWS = ""  # the column of row numbers; no other column has a blank name
METADATA = b"sbert"


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


@dataclass(frozen=True)
class Content:
    """`cells`: the string columns of the table, and the row numbers as the column `ROWS`."""

    name: str
    cells: "pyarrow.Table"
    skipped: tuple[Skip, ...]
    notes: tuple[str, ...]
    text_bytes: int
    form: Form = SPREADSHEET

    def table(self) -> Table:
        import pandas as pd

        columns = {name: self.cells[name].to_numpy() for name in self.cells.column_names if name != ROWS}
        frame = pd.DataFrame(columns, dtype=object)
        return Table(self.name, frame, self.cells[ROWS].to_numpy(), self.skipped, self.notes, self.text_bytes, self.form)

    def write(self, stream: IO[bytes]) -> None:
        import pyarrow.ipc

        skipped = [(skip.row, skip.reason) for skip in self.skipped]
        metadata = json.dumps({"skipped": skipped, "notes": self.notes, "text_bytes": self.text_bytes, "form": self.form})
        cells = self.cells.replace_schema_metadata({METADATA: metadata})
        options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
        with pyarrow.ipc.new_stream(stream, cells.schema, options=options) as writer:
            writer.write_table(cells)


def read_content(name: str, stream: IO[bytes]) -> Content:
    """Read what `Content.write` wrote."""
    import pyarrow.ipc

    cells = pyarrow.ipc.open_stream(stream).read_all()
    metadata: dict[str, Any] = json.loads(cells.schema.metadata[METADATA])
    skipped = tuple(Skip(row, reason) for row, reason in metadata["skipped"])
    return Content(name, cells, skipped, tuple(metadata["notes"]), metadata["text_bytes"], Form(*metadata["form"]))
