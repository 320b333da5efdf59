"""Start the child process that reads a file, wait for it so long, and turn its death into a sentence."""

import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from json import dumps
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.content import Content, read_content

ROOT = Path(__file__).parents[2]
REFUSED, NO_MEMORY = 3, 4  # exit statuses of the child beside 0; what it writes to stdout is the table, or the sentence
# One thread, and an allocator that reserves no address space: what the child may hold is then what it holds.
SPARSE = {"ARROW_DEFAULT_MEMORY_POOL": "system", "ARROW_IO_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def read_confined(path: Path, name: str, limits: Limits) -> Content:
    """Read a file in a process of its own, within `limits.reading_bytes` and `limits.reading_seconds`."""
    command = [sys.executable, "-W", "ignore", "-m", "sbert_app.tables.child", str(path.resolve()), name, dumps(asdict(limits))]
    # A file, no pipe: the child is gone, and its memory free, before the table is built here.
    with tempfile.TemporaryFile() as out:
        try:
            ended = subprocess.run(  # noqa: S603 - this very program
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                timeout=limits.reading_seconds,
                env=_environment(),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"'{name}' takes more than {limits.reading_seconds:,} seconds to read. Save it as CSV UTF-8 and upload that."
            ) from error
        out.seek(0)
        if ended.returncode == REFUSED:
            raise UserError(out.read().decode())
        if ended.returncode == NO_MEMORY or ended.returncode < 0:  # below 0: killed, or crashed in a library
            raise UserError(f"'{name}' needs too much memory to read. Save it as CSV UTF-8 and upload that.")
        if ended.returncode:
            raise RuntimeError(f"the reading of a file failed:\n{ended.stderr.decode(errors='replace')}")
        return read_content(name, out)


def _environment() -> dict[str, str]:
    path = os.environ.get("PYTHONPATH")
    return os.environ | SPARSE | {"PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT)}
