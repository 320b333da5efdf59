"""Read a file: small text in this process, all others in a child process with bounded memory and time."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.binary import read_parquet, read_xlsx
from sbert_app.tables.collecting import Collector
from sbert_app.tables.decoding import TextFile, kind_of, open_text
from sbert_app.tables.delimited import csv_rows, tsv_rows
from sbert_app.tables.table import LINE_COLUMN, Content, Table
from sbert_app.tables.text import read_json, read_jsonl, read_rows, read_txt
from sbert_app.wording import storable

TEXT_READERS: dict[str, Callable[[TextFile], Content]] = {
    "csv": partial(read_rows, csv_rows), "tsv": partial(read_rows, tsv_rows),
    "txt": read_txt, "jsonl": read_jsonl, "json": read_json,
}  # fmt: skip
BINARY_READERS: dict[str, Callable[[Path, str, Limits], Content]] = {"parquet": read_parquet, "xlsx": read_xlsx}
FORMATS = (*TEXT_READERS, *BINARY_READERS, *(f"{kind}.gz" for kind in TEXT_READERS))
WORKBOOKS = (".xls", ".xlsb", ".xlsm", ".ods", ".numbers")  # which are not read
SMALL = MEGABYTE  # bytes; such a text file is read faster than a child starts, and does not unpack to more
NAME_LENGTH = 120  # characters of a file name in tables and messages
ROOT = Path(__file__).parents[2]
CHILD = "import sys; from sbert_app.tables import reading; sys.exit(reading.read_bounded(*sys.argv[1:]))"
REFUSED, NO_MEMORY, DISK_FULL = 3, 4, 5  # exit statuses of the child; 0: stdout has the table, REFUSED: the error message
NICE = 10  # lower priority than the process that serves visitors
TIMEOUT_FACTOR = 3  # wall time per second of allowed computing: on a busy machine the child also waits
# Bounds for an empty file; they grow with each byte, up to the limits, so that small files cannot cost much.
SECONDS, BYTES = 12, 300 * MEGABYTE
SECONDS_A_MEGABYTE, BYTES_A_BYTE = 10, 30
READING = threading.BoundedSemaphore(4)  # children at a time in the whole process, since each takes memory
# One thread, and an allocator that reserves no address space, so that the limit counts only memory in use.
CHILD_ENV = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


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
    return Table.of((read_content if small else read_confined)(path, name, limits))


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
    return Table.of(lines.content())


def short_name(name: str) -> str:
    """Shorten a file name in the middle, so that its beginning and its ending remain."""
    name = storable(name)
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 21]}…{name[-20:]}"


def _kind(name: str) -> str:
    """The format of a file. Raises UserError."""
    if not (kind := kind_of(name, FORMATS)):
        way_out = "Save it as .xlsx, or use" if name.lower().endswith(WORKBOOKS) else "Use"
        raise UserError(f"'{name}' is not a format this app reads. {way_out} one of {', '.join(FORMATS)}.")
    return kind


def read_confined(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in a child process, within bounds that grow with its size up to `limits`. Raises UserError."""
    import pyarrow.ipc

    size = path.stat().st_size
    seconds = min(limits.reading_seconds, SECONDS + SECONDS_A_MEGABYTE * size // MEGABYTE)
    limits = replace(limits, reading_seconds=seconds, reading_bytes=min(limits.reading_bytes, BYTES + BYTES_A_BYTE * size))
    too_slow = f"'{name}' takes more than {seconds:,} seconds to read. Save it as CSV UTF-8 and upload that."
    command = [sys.executable, "-W", "ignore", "-c", CHILD, str(path.resolve()), name, json.dumps(asdict(limits))]
    python_path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # A file, not a pipe: the child has ended, and its memory is free, before the table is built here.
    with READING, tempfile.TemporaryFile() as out:
        try:
            result = subprocess.run(  # noqa: S603 - runs this program
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=TIMEOUT_FACTOR * limits.reading_seconds,
                env=os.environ | CHILD_ENV | {"PYTHONPATH": python_path},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(too_slow) from error
        out.seek(0)
        if result.returncode == REFUSED:
            raise UserError(out.read().decode())
        if result.returncode == DISK_FULL:
            raise UserError(f"'{name}' could not be read: the disk is full. Free some space and upload it again.")
        if result.returncode == -getattr(signal, "SIGXCPU", 0):
            raise UserError(too_slow)
        if result.returncode == NO_MEMORY or result.returncode < 0:  # below 0: killed, or crashed in a library
            raise UserError(f"'{name}' needs too much memory to read. Save it as CSV UTF-8 and upload that.")
        if result.returncode:
            raise RuntimeError(f"reading a file failed:\n{result.stderr.decode(errors='replace')}")
        return pyarrow.ipc.open_stream(out).read_all()


def read_bounded(path: str, name: str, limits_json: str) -> int:
    """The child: read a file with bounded memory and time, write the table to stdout. Returns the exit status."""
    import pyarrow.ipc

    limits = Limits(**json.loads(limits_json))
    _bound(limits)
    try:
        content = read_content(Path(path), name, limits)
        options = pyarrow.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        with pyarrow.ipc.new_stream(sys.stdout.buffer, content.schema, options=options) as writer:
            writer.write_table(content)
    except UserError as error:
        sys.stdout.buffer.write(str(error).encode())
        return REFUSED
    except MemoryError:
        return NO_MEMORY
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return DISK_FULL
        raise
    return 0


def _bound(limits: Limits) -> None:
    """Limit this process's memory, beside what libraries take, and processor time, and lower its priority; not on Windows."""
    try:
        import resource
    except ImportError:
        return
    os.nice(NICE)
    status = Path("/proc/self/status")
    if status.is_file():  # Linux, which alone enforces the limit; it counts in kilobytes
        used = next(int(line.split()[1]) for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmData"))
        most = 1024 * used + limits.reading_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.reading_seconds, limits.reading_seconds + 1))  # ends even if the parent died
