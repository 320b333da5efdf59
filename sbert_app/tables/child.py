"""`python -m sbert_app.tables.child PATH NAME LIMITS`: read a file with bounded memory and time; write the table to stdout."""

import errno
import json
import os
import sys
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.reading import DISK_FULL, NO_MEMORY, REFUSED, read_content

NICE = 10  # lower priority than the process that serves visitors


def main(path: str, name: str, limits_json: str) -> int:
    limits = Limits(**json.loads(limits_json))
    _bound(limits)
    try:
        read_content(Path(path), name, limits).write(sys.stdout.buffer)
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
    """Limit this process's memory and processor time and lower its priority; does nothing on Windows."""
    try:
        import resource
    except ImportError:
        return
    import pyarrow  # noqa: F401 - imported first: the limit does not count libraries

    os.nice(NICE)
    used = _data_bytes()
    if used is not None:
        most = used + limits.reading_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.reading_seconds, limits.reading_seconds + 1))  # ends even if the parent died


def _data_bytes() -> int | None:
    """The data memory of this process by Linux's count; None on other systems, which do not enforce the limit."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData")), None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
