"""Read csv, tsv, jsonl, json, parquet, xlsx and txt into a clean table: all cells strings, every skipped row reported."""

from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.binary import read_parquet, read_xlsx
from sbert_app.tables.decoding import decode, lines_of, storable, unpack
from sbert_app.tables.delimited import read_csv, read_tsv, read_txt
from sbert_app.tables.records import read_json, read_jsonl
from sbert_app.tables.table import LINE_COLUMN, Skip, Table, table_from_rows

__all__ = ["FORMATS", "Skip", "Table", "read_table", "storable", "table_from_lines"]

TEXT_READERS = {"csv": read_csv, "tsv": read_tsv, "txt": read_txt, "jsonl": read_jsonl, "json": read_json}
BINARY_READERS = {"parquet": read_parquet, "xlsx": read_xlsx}
FORMATS = (*TEXT_READERS, *BINARY_READERS, *(f"{kind}.gz" for kind in TEXT_READERS))


def read_table(path: Path, limits: Limits, name: str = "") -> Table:
    """Read a file in any of the formats. `name` is what the person calls it. Raises UserError with a way out."""
    name = name or path.name
    suffixes = [s.lower().lstrip(".") for s in Path(name).suffixes[-2:]]
    kind = ".".join(suffixes) if suffixes[-1:] == ["gz"] else (suffixes or [""])[-1]
    if kind not in FORMATS:
        raise UserError(f"'{name}' is not a format this app reads. Use one of {', '.join(FORMATS)}.")
    if path.stat().st_size > limits.file_bytes:
        raise UserError(
            f"'{name}' has {path.stat().st_size / MEGABYTE:,.0f} MB, the limit is {limits.file_bytes / MEGABYTE:,.0f} MB. "
            "Split the file, or keep only the columns you need."
        )
    if path.stat().st_size == 0:
        raise UserError(f"'{name}' is empty. Choose a file with at least one sentence.")
    if kind in BINARY_READERS:
        return BINARY_READERS[kind](path, name, limits)
    text, notes = decode(unpack(path, name, kind, limits), name)
    return TEXT_READERS[kind.removesuffix(".gz")](name, text, limits, notes)


def table_from_lines(text: str, limits: Limits, name: str = "pasted lines") -> Table:
    """One sentence a line, blank lines skipped silently: they are only spacing."""
    lines = [(number, [line]) for number, line in enumerate(lines_of(storable(text)), 1) if line.strip()]
    return table_from_rows(name, [LINE_COLUMN], lines, limits)
