"""Read a file: small text here, everything else in a child process whose memory and time are bounded."""

import io
from collections.abc import Callable
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.binary import read_parquet, read_xlsx
from sbert_app.tables.collecting import Collector
from sbert_app.tables.confined import read_confined
from sbert_app.tables.content import Content
from sbert_app.tables.decoding import TextFile, open_text, storable
from sbert_app.tables.delimited import read_csv, read_tsv, read_txt
from sbert_app.tables.records import read_json, read_jsonl
from sbert_app.tables.table import LINE_COLUMN, Table

TEXT_READERS: dict[str, Callable[[TextFile], Content]] = {
    "csv": read_csv,
    "tsv": read_tsv,
    "txt": read_txt,
    "jsonl": read_jsonl,
    "json": read_json,
}
BINARY_READERS: dict[str, Callable[[Path, str, Limits], Content]] = {"parquet": read_parquet, "xlsx": read_xlsx}
FORMATS = (*TEXT_READERS, *BINARY_READERS, *(f"{kind}.gz" for kind in TEXT_READERS))
SMALL = MEGABYTE  # text up to here is read sooner than a child starts, and cannot grow
NAME_LENGTH = 120  # of a file's name in tables and messages


def read_table(path: Path, limits: Limits, name: str = "") -> Table:
    """Read a file in any of the formats. `name` is what the person calls it. Raises UserError with a way out."""
    name = short_name(name or path.name)
    kind = _kind(name)
    size = path.stat().st_size
    if size > limits.file_bytes:
        raise UserError(
            f"'{name}' has {size / MEGABYTE:,.0f} MB, the limit is {limits.file_bytes / MEGABYTE:,.0f} MB. "
            "Split the file, or keep only the columns you need."
        )
    if size == 0:
        raise UserError(f"'{name}' is empty. Choose a file with at least one sentence.")
    here = kind in TEXT_READERS and size <= SMALL
    return (read_content if here else read_confined)(path, name, limits).table()


def read_content(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in this process."""
    kind = _kind(name)
    if kind in BINARY_READERS:
        return BINARY_READERS[kind](path, name, limits)
    return TEXT_READERS[kind.removesuffix(".gz")](open_text(path, name, kind.endswith(".gz"), limits))


def table_from_lines(text: str, limits: Limits, name: str = "pasted lines") -> Table:
    """One sentence a line, blank lines skipped silently: they are only spacing."""
    lines = Collector(short_name(name), limits, [LINE_COLUMN])
    for number, line in enumerate(io.StringIO(storable(text), newline=None), 1):
        if line.strip():
            lines.add(number, [line.removesuffix("\n")])
    return lines.content().table()


def short_name(name: str) -> str:
    """A file's name, cut in the middle: its beginning says what it is, its end which format."""
    name = storable(name)
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 21]}…{name[-20:]}"


def _kind(name: str) -> str:
    """Such as "csv" or "csv.gz"."""
    suffixes = [suffix.lower().lstrip(".") for suffix in Path(name).suffixes[-2:]]
    kind = ".".join(suffixes) if suffixes[-1:] == ["gz"] else (suffixes or [""])[-1]
    if kind not in FORMATS:
        raise UserError(f"'{name}' is not a format this app reads. Use one of {', '.join(FORMATS)}.")
    return kind
