"""A table on its way: columns of strings in Arrow's form, which a process can hand to another."""

import json
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from sbert_app.tables.table import Skip, Table

if TYPE_CHECKING:
    import pyarrow

ROWS = ""  # the column of row numbers; no other column has a blank name
ABOUT = b"sbert"


@dataclass(frozen=True)
class Content:
    """`cells`: one string column for each of the table's, and the row numbers as the column `ROWS`."""

    name: str
    cells: "pyarrow.Table"
    skipped: tuple[Skip, ...]
    notes: tuple[str, ...]
    text_bytes: int

    def table(self) -> Table:
        import pandas as pd

        columns = {name: self.cells[name].to_numpy() for name in self.cells.column_names if name != ROWS}
        frame = pd.DataFrame(columns, dtype=object)
        return Table(self.name, frame, self.cells[ROWS].to_numpy(), self.skipped, self.notes, self.text_bytes)

    def write(self, stream: IO[bytes]) -> None:
        import pyarrow.ipc

        skipped = [(skip.row, skip.reason) for skip in self.skipped]
        about = json.dumps({"skipped": skipped, "notes": self.notes, "text_bytes": self.text_bytes})
        cells = self.cells.replace_schema_metadata({ABOUT: about})
        options = pyarrow.ipc.IpcWriteOptions(compression="lz4")
        with pyarrow.ipc.new_stream(stream, cells.schema, options=options) as writer:
            writer.write_table(cells)


def read_content(name: str, stream: IO[bytes]) -> Content:
    """What `Content.write` wrote."""
    import pyarrow.ipc

    cells = pyarrow.ipc.open_stream(stream).read_all()
    about: dict[str, Any] = json.loads(cells.schema.metadata[ABOUT])
    skipped = tuple(Skip(row, reason) for row, reason in about["skipped"])
    return Content(name, cells, skipped, tuple(about["notes"]), about["text_bytes"])
