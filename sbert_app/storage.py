"""Write a folder so that it is there whole or not at all: beside its place first, then renamed."""

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEFTOVER_SECONDS = 24 * 3600  # a hidden folder older than this was left by a process that was killed


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes `target` when the block ends, and vanishes when the block fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    temporary = target.parent / f".{uuid.uuid4().hex}"
    temporary.mkdir()
    try:
        yield temporary
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sweep(folder: Path) -> None:
    for path in folder.glob(".*"):
        if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
