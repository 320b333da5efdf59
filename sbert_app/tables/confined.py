"""Start the child process that reads a file, wait for it so long, and turn its death into a sentence."""

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
from sbert_app.tables.content import Content, read_content

ROOT = Path(__file__).parents[2]
REFUSED, NO_MEMORY, NO_ROOM = 3, 4, 5  # exit statuses of the child beside 0; it writes the table to stdout, or the sentence
PATIENCE = 3  # times the seconds of computing that a file may take: on a busy machine the child waits for its turn as well
# What a small file may take; each further byte buys more, up to the limits: who sends little can ask for little.
SECONDS, BYTES = 12, 300 * MEGABYTE
SECONDS_A_MEGABYTE, BYTES_A_BYTE = 10, 30
# Of the whole process, as the memory is that they take: so many at most may hold their share of it at once.
CHILDREN = threading.BoundedSemaphore(4)
# One thread, and an allocator that reserves no address space: what the child may hold is then what it holds.
SPARSE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def read_confined(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in a process of its own, within bounds that grow with its size up to those of `limits`."""
    limits = _fair(limits, path.stat().st_size)
    command = [sys.executable, "-W", "ignore", "-m", "sbert_app.tables.child", str(path.resolve()), name, dumps(asdict(limits))]
    # A file, no pipe: the child is gone, and its memory free, before the table is built here.
    with CHILDREN, tempfile.TemporaryFile() as out:
        try:
            ended = subprocess.run(  # noqa: S603 - this very program
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=PATIENCE * limits.reading_seconds,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(_too_slow(name, limits)) from error
        out.seek(0)
        if ended.returncode == REFUSED:
            raise UserError(out.read().decode())
        if ended.returncode == NO_ROOM:
            raise UserError(f"'{name}' could not be read: the disk is full. Free some space and upload it again.")
        if ended.returncode == -getattr(signal, "SIGXCPU", 0):
            raise UserError(_too_slow(name, limits))
        if ended.returncode == NO_MEMORY or ended.returncode < 0:  # below 0: killed, or crashed in a library
            raise UserError(f"'{name}' needs too much memory to read. Save it as CSV UTF-8 and upload that.")
        if ended.returncode:
            raise RuntimeError(f"the reading of a file failed:\n{ended.stderr.decode(errors='replace')}")
        return read_content(name, out)


def _fair(limits: Limits, size: int) -> Limits:
    """What a file of `size` bytes may take."""
    seconds, room = SECONDS + SECONDS_A_MEGABYTE * size // MEGABYTE, BYTES + BYTES_A_BYTE * size
    return replace(limits, reading_seconds=min(limits.reading_seconds, seconds), reading_bytes=min(limits.reading_bytes, room))


def _too_slow(name: str, limits: Limits) -> str:
    return f"'{name}' takes more than {limits.reading_seconds:,} seconds to read. Save it as CSV UTF-8 and upload that."


def _environment() -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return os.environ | SPARSE | {"PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT)}
