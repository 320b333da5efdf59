"""Parquet and xlsx, bounded by what they unpack to before they are unpacked."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.records import cell
from sbert_app.tables.table import Table, check_rows, check_unpacked, table_from_rows


def read_parquet(path: Path, name: str, limits: Limits) -> Table:
    import pyarrow
    import pyarrow.parquet

    try:
        # Dictionary columns stay so: a text that a million rows share is held once.
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=pyarrow.parquet.read_schema(path).names)
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(i).total_byte_size for i in groups)
        check_unpacked(name, size, limits)
        check_rows(name, file.metadata.num_rows, limits)
        return _from_frame(name, file.read().to_pandas(), limits)
    except (pyarrow.ArrowException, OSError) as error:
        raise UserError(f"'{name}' is not a readable parquet file. Export it again, or use CSV.") from error


def read_xlsx(path: Path, name: str, limits: Limits) -> Table:
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(name, sum(entry.file_size for entry in archive.infolist()), limits)
        with pd.ExcelFile(path, engine="openpyxl") as book:
            notes = (
                [f"Read the first of {len(book.sheet_names)} sheets, '{book.sheet_names[0]}'."] if len(book.sheet_names) > 1 else []
            )
            return _from_frame(name, book.parse(0, dtype=str, keep_default_na=False), limits, notes)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise UserError(f"'{name}' is not a readable .xlsx workbook. Save it again as .xlsx, or as CSV UTF-8.") from error


def _from_frame(name: str, frame: pd.DataFrame, limits: Limits, notes: Sequence[str] = ()) -> Table:
    cells = [
        [cell(v) if isinstance(v, (str, int, float, type(None))) else str(v) for v in row] for row in frame.itertuples(index=False)
    ]
    return table_from_rows(name, [str(column) for column in frame.columns], enumerate(cells, 1), limits, notes)
