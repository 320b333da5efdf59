"""Lock file of a run, which the system releases when the process dies."""

from pathlib import Path

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.storage import writing


def hold(path: Path) -> FileLock:
    """Take the lock, until it is released. Raises UserError if somebody else has it."""
    lock = FileLock(path, thread_local=False)  # one thread takes it, the training thread releases it
    try:
        with writing("The run"):
            lock.acquire(timeout=1)  # `held` takes it for a moment only
    except Timeout as error:
        raise UserError("This run is already being worked on, here or in another window.") from error
    return lock


def held(path: Path) -> bool:
    """Whether any process has the lock."""
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a data home without write access: nobody trains there
        return False
