"""`python -m sbert_app.tables.child PATH NAME LIMITS`: read one file within bounds, write the table to stdout."""

import errno
import json
import os
import sys
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.settings import Limits
from sbert_app.tables.confined import NO_MEMORY, NO_ROOM, REFUSED
from sbert_app.tables.reading import read_content

NICE = 10  # whoever is answered meanwhile comes first


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
            return NO_ROOM
        raise
    return 0


def _bound(limits: Limits) -> None:
    """Refuse this process more memory and processor time, and let others go first. Windows knows none of it."""
    try:
        import resource
    except ImportError:
        return
    import pyarrow  # noqa: F401 - libraries come on top of what the file may take

    os.nice(NICE)
    used = _data_bytes()
    if used is not None:
        most = used + limits.reading_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.reading_seconds, limits.reading_seconds + 1))  # outlives no killed parent


def _data_bytes() -> int | None:
    """What this process holds, by Linux's count; nothing elsewhere, where no such bound is kept."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData")), None)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
