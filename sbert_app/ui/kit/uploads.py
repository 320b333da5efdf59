"""Delete uploaded files soon after they are read: visitors' data stays in memory only."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sbert_app.errors import UserError

# Not at once: Gradio stores identical uploads of two visitors as one file, which the second may not have read yet.
KEPT_SECONDS = 60.0


@contextmanager
def uploaded(file: str | None, message: str) -> Iterator[Path]:
    """Yield an upload's path and delete the file later. Raises UserError with this message if no file was sent."""
    if not file:
        raise UserError(message)
    path = Path(file)
    if not path.is_file():
        raise UserError("The uploaded file was already read and deleted. Choose the file again.")
    try:
        yield path
    finally:
        delete_later(path, KEPT_SECONDS)


def delete_later(path: Path, seconds: float) -> None:
    """Delete a file after `seconds` without a new upload of it."""
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
