"""Uploaded files are deleted soon after they were read: what a visitor brings is kept in memory only."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sbert_app.errors import UserError

# Gradio stores equal files of two visitors in one place: whoever uploaded it a moment later must still find it.
KEPT_SECONDS = 60.0


@contextmanager
def uploaded(file: str | None, message: str) -> Iterator[Path]:
    """The path of an upload while it is read. Raises UserError with this message where no file was sent."""
    if not file:
        raise UserError(message)
    path = Path(file)
    if not path.is_file():
        raise UserError("The upload is gone: it was read before. Choose the file again.")
    try:
        yield path
    finally:
        delete_later(path, KEPT_SECONDS)


def delete_later(path: Path, seconds: float) -> None:
    """Delete a file once nobody has uploaded it again for so long."""
    timer = threading.Timer(seconds, _delete, (path, seconds))
    timer.daemon = True
    timer.start()


def _delete(path: Path, seconds: float) -> None:
    try:
        age = time.time() - path.stat().st_mtime
    except OSError:
        return
    if age < seconds:
        delete_later(path, seconds - age)
    else:
        path.unlink(missing_ok=True)
