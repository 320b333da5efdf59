"""Read a file in a child process with bounded time and memory; convert its exit status to a UserError."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import MEGABYTE, Limits
from sbert_app.tables.table import Content, read_content

ROOT = Path(__file__).parents[2]
REFUSED, NO_MEMORY, DISK_FULL = 3, 4, 5  # exit statuses of the child; 0: stdout has the table, REFUSED: the error message
TIMEOUT_FACTOR = 3  # wall time per second of allowed computing: on a busy machine the child also waits
# Bounds for an empty file; they grow with each byte, up to the limits, so that small files cannot cost much.
SECONDS, BYTES = 12, 300 * MEGABYTE
SECONDS_A_MEGABYTE, BYTES_A_BYTE = 10, 30
READING = threading.BoundedSemaphore(4)  # children at a time in the whole process, since each takes memory
# One thread, and an allocator that reserves no address space, so that the limit counts only memory in use.
CHILD_ENV = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def read_confined(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in a child process, within bounds that grow with its size up to `limits`. Raises UserError."""
    limits = _limits_of(path.stat().st_size, limits)
    command = [sys.executable, "-W", "ignore", "-m", "sbert_app.tables.child", str(path.resolve()), name, dumps(asdict(limits))]
    # A file, not a pipe: the child has ended, and its memory is free, before the table is built here.
    with READING, tempfile.TemporaryFile() as out:
        try:
            result = subprocess.run(  # noqa: S603 - runs this program
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=TIMEOUT_FACTOR * limits.reading_seconds,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(_too_slow(name, limits)) from error
        out.seek(0)
        if result.returncode == REFUSED:
            raise UserError(out.read().decode())
        if result.returncode == DISK_FULL:
            raise UserError(f"'{name}' could not be read: the disk is full. Free some space and upload it again.")
        if result.returncode == -getattr(signal, "SIGXCPU", 0):
            raise UserError(_too_slow(name, limits))
        if result.returncode == NO_MEMORY or result.returncode < 0:  # below 0: killed, or crashed in a library
            raise UserError(f"'{name}' needs too much memory to read. Save it as CSV UTF-8 and upload that.")
        if result.returncode:
            raise RuntimeError(f"reading a file failed:\n{result.stderr.decode(errors='replace')}")
        return read_content(name, out)


def _limits_of(size: int, limits: Limits) -> Limits:
    """The limits with the time and memory that a file of `size` bytes may take."""
    seconds, memory = SECONDS + SECONDS_A_MEGABYTE * size // MEGABYTE, BYTES + BYTES_A_BYTE * size
    return replace(limits, reading_seconds=min(limits.reading_seconds, seconds), reading_bytes=min(limits.reading_bytes, memory))


def _too_slow(name: str, limits: Limits) -> str:
    return f"'{name}' takes more than {limits.reading_seconds:,} seconds to read. Save it as CSV UTF-8 and upload that."


def _environment() -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return os.environ | CHILD_ENV | {"PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT)}
