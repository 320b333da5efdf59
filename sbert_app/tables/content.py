"""A table in transfer: columns of strings as Arrow arrays, which one process can send to another."""

import json
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from sbert_app.tables.table import SPREADSHEET, Form, Skip, Table

if TYPE_CHECKING:
    import pyarrow

ROWS = ""  # the column of row numbers; no other column has a blank name
METADATA = b"sbert"


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
