"""Read parquet and xlsx in pieces. Only in the child process: memory use of their libraries cannot be limited from inside."""

import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, time
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.collecting import Collector, check_size
from sbert_app.tables.header import SNIFFED_LINES, with_header
from sbert_app.tables.table import SHEET, Content
from sbert_app.tables.text import cell
from sbert_app.wording import storable

BATCH_ROWS = 8192
SHEETS = "xl/worksheets/"
INDEX = "__index_level_"  # prefix of the columns of an unnamed pandas index
LEAST_ROWS = 10  # of a table: a first sheet with fewer is passed over if another has them
SPREADSHEET_ERRORS = {"#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A"}


def read_parquet(path: Path, name: str, limits: Limits) -> Content:
    import pyarrow.parquet

    try:
        kinds = pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary()
        texts = [field.name for field in pyarrow.parquet.read_schema(path) if field.type in kinds]
        # Keep dictionary columns: a text that a million rows share is held once, and measured before it is repeated.
        file = pyarrow.parquet.ParquetFile(path, read_dictionary=texts)
        size = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
        check_size(name, limits, rows=file.metadata.num_rows, unpacked=size)
        columns = {i: column for i, column in enumerate(file.schema_arrow.names) if not column.startswith(INDEX)}
        table = Collector(name, limits, columns.values()).filled(_parquet_rows(file, list(columns), name, limits))
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise UserError(f"'{name}' is not a readable parquet file. Export it again, or use CSV.") from error
    return table.content()


def read_xlsx(path: Path, name: str, limits: Limits) -> Content:
    import openpyxl

    with _faults_named(name):
        with zipfile.ZipFile(path) as archive:
            check_size(name, limits, unpacked=sum(entry.file_size for entry in archive.infolist()))
            _check_tags(archive)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True, keep_links=False)
        sheets = [_opened(sheet, name) for sheet in book.worksheets]
    first = next((sheet for sheet in sheets if sheet.filled >= LEAST_ROWS), sheets[0])
    if not first.header:
        raise UserError(f"'{name}' has no rows on its sheet '{first.title}'. Choose a file with at least one sentence.")
    read = [sheet for sheet in sheets if sheet.header == first.header]
    rows = (row if len(read) == 1 else sheet.with_title(row) for sheet in read for row in sheet.rows)
    table = Collector(name, limits, first.header if len(read) == 1 else [*first.header, SHEET]).filled(rows, any_length=True)
    return table.content([*([_which(read, sheets)] if len(sheets) > 1 else []), *first.notes])


def _which(read: "list[_Sheet]", sheets: "list[_Sheet]") -> str:
    titles, others = ", ".join(f"'{sheet.title}'" for sheet in read), [sheet.title for sheet in sheets if sheet not in read]
    rest = f" Not read: {', '.join(others)}." if others else ""
    if len(read) == 1:
        return f"Read the sheet {titles}.{rest}"
    how = f"whose columns are the same, as one table, rows counted on; its column '{SHEET}' says which"
    return f"Read the sheets {titles}, {how}.{rest}"


@contextmanager
def _faults_named(name: str) -> Iterator[None]:
    """Raise UserError where a workbook cannot be read: openpyxl checks little, so a broken one may raise any error."""
    try:
        yield
    except (MemoryError, UserError):
        raise
    except Exception as error:
        raise UserError(f"'{name}' is not a readable .xlsx workbook. Save it again as .xlsx, or as CSV UTF-8.") from error


def _check_tags(archive: zipfile.ZipFile) -> None:
    """Refuse a sheet with a tag of a megabyte, such as one with a million attributes: parsing it takes very long."""
    for sheet in [entry for entry in archive.infolist() if entry.filename.startswith(SHEETS)]:
        with archive.open(sheet) as file:
            while len(chunk := file.read(MEGABYTE)) == MEGABYTE:
                if b">" not in chunk:
                    raise ValueError("a tag is too long")


def _parquet_rows(file: Any, places: list[int], name: str, limits: Limits) -> Iterator[tuple[str, ...]]:
    batches = file.iter_batches(BATCH_ROWS, use_threads=False)
    shared = 0
    for batch in batches:
        shared += _shared_bytes(batch)
        if shared > limits.unpacked_bytes:
            check_size(name, limits, unpacked=shared + sum(map(_shared_bytes, batches)))
        yield from zip(*(text_cells(batch.column(i)) for i in places), strict=True)


def text_cells(column: Any) -> list[str]:
    """The cells of an Arrow column as strings, "" for null."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return [_text(value) for value in column.to_pylist()]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return storable(value.decode("utf-8", "replace"))
    return cell(value) if isinstance(value, (str, int, float, list, dict, type(None))) else str(_date(value))


def _shared_bytes(batch: Any) -> int:
    """The bytes of the texts of dictionary columns once every row has its own copy."""
    import pyarrow
    import pyarrow.compute as pc

    size = 0
    for column in batch.columns:
        if pyarrow.types.is_dictionary(column.type) and not pyarrow.types.is_primitive(column.type.value_type):
            size += pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
    return size


class _Sheet(NamedTuple):
    """header: [] of a blank sheet; rows: those below it; notes: on the header; filled: rows among the first that are not blank."""

    title: str
    header: list[str]
    rows: Iterable[Sequence[str]]
    notes: Sequence[str]
    filled: int

    def with_title(self, row: Sequence[str]) -> list[str]:
        """A row with the sheet's title as one more cell, below its name in the header."""
        width = len(self.header)
        return [*row[:width], *[""] * (width - len(row)), self.title, *row[width:]]


def _opened(sheet: Any, name: str) -> _Sheet:
    rows = _sheet_rows(sheet, name)
    head = list(islice(rows, SNIFFED_LINES))
    width, filled = max(map(len, head), default=0), sum(map(any, head))
    if not filled:
        return _Sheet(storable(sheet.title), [], (), (), 0)
    head = [[*row, *[""] * (width - len(row))] for row in head]  # a row ends at its last filled cell
    header, notes, below = with_header(name, chain(head, rows), sheet=True)
    while not header[-1]:  # cells beside the table
        header.pop()
    return _Sheet(storable(sheet.title), header, below, notes, filled)


def _sheet_rows(sheet: Any, name: str) -> Iterator[list[str]]:
    """The cells of a sheet, each row up to its last filled cell."""
    with _faults_named(name):
        sheet.reset_dimensions()
        for cells in sheet.iter_rows():
            row = [_shown(each) for each in cells]
            while row and not row[-1]:
                row.pop()
            yield row


def _shown(sheet_cell: Any) -> str:
    """A cell as the sheet shows it: 2 for 2.0, 0012 for 12 where its format is 0000, 2026-03-31 for a date, "" for an error."""
    value = sheet_cell.value
    if value is None or value in SPREADSHEET_ERRORS:
        return ""
    if (type(value) is int or isinstance(value, float)) and value == value // 1:
        form = sheet_cell.number_format
        return str(int(value)).zfill(0 if form.strip("0") else len(form))
    return storable(str(_date(value)))


def _date(value: Any) -> Any:
    """Of a moment at midnight the date alone: spreadsheets keep dates as moments."""
    return value.date() if isinstance(value, datetime) and value.tzinfo is None and value.time() == time.min else value
