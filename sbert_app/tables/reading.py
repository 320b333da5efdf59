"""Read a file: small text in this process, all others in a child process with bounded memory and time."""

import io
from collections.abc import Callable
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.binary import read_parquet, read_xlsx
from sbert_app.tables.collecting import Collector
from sbert_app.tables.confined import read_confined
from sbert_app.tables.decoding import TextFile, open_text, storable
from sbert_app.tables.delimited import read_csv, read_tsv, read_txt
from sbert_app.tables.records import read_json, read_jsonl
from sbert_app.tables.table import LINE_COLUMN, Content, Table

TextReader = Callable[[TextFile], Content]
TEXT_READERS: dict[str, TextReader] = {"csv": read_csv, "tsv": read_tsv, "txt": read_txt, "jsonl": read_jsonl, "json": read_json}
BINARY_READERS: dict[str, Callable[[Path, str, Limits], Content]] = {"parquet": read_parquet, "xlsx": read_xlsx}
FORMATS = (*TEXT_READERS, *BINARY_READERS, *(f"{kind}.gz" for kind in TEXT_READERS))
SMALL = MEGABYTE  # bytes; such a text file is read faster than a child starts, and does not unpack to more
NAME_LENGTH = 120  # characters of a file name in tables and messages


def read_table(path: Path, limits: Limits, name: str = "") -> Table:
    """Read a file in any of FORMATS. `name`: the user's name for the file. Raises UserError."""
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
    small = kind in TEXT_READERS and size <= SMALL
    return (read_content if small else read_confined)(path, name, limits).table()


def read_content(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in this process."""
    kind = _kind(name)
    if kind in BINARY_READERS:
        return BINARY_READERS[kind](path, name, limits)
    return TEXT_READERS[kind.removesuffix(".gz")](open_text(path, name, kind.endswith(".gz"), limits))


def table_from_lines(text: str, limits: Limits, name: str = "pasted lines") -> Table:
    """Read one sentence per line; blank lines are skipped without a report."""
    lines = Collector(short_name(name), limits, [LINE_COLUMN])
    for number, line in enumerate(io.StringIO(storable(text), newline=None), 1):
        if line.strip():
            lines.add(number, [line.removesuffix("\n")])
    return lines.content().table()


def short_name(name: str) -> str:
    """Shorten a file name in the middle, so that its beginning and its ending remain."""
    name = storable(name)
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 21]}…{name[-20:]}"


def _kind(name: str) -> str:
    """The format of a file by its ending, such as "csv" or "csv.gz". Raises UserError."""
    suffixes = [suffix.lower().lstrip(".") for suffix in Path(name).suffixes[-2:]]
    kind = ".".join(suffixes) if suffixes[-1:] == ["gz"] else (suffixes or [""])[-1]
    if kind not in FORMATS:
        raise UserError(f"'{name}' is not a format this app reads. Use one of {', '.join(FORMATS)}.")
    return kind
