"""Who works on a run: a lock file that the system lets go when its process dies."""

from pathlib import Path

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.storage import writing


def hold(path: Path) -> FileLock:
    """Take the lock for this process, until it is released. Raises UserError where another has it."""
    lock = FileLock(path, thread_local=False)  # the thread that trains releases what the one that asked has taken
    try:
        with writing("The run"):
            lock.acquire(timeout=1)  # a glance of `held` is soon over
    except Timeout as error:
        raise UserError("This run is already being worked on, here or in another window.") from error
    return lock


def held(path: Path) -> bool:
    """Whether somebody has the lock, in whatever process."""
    try:
        with FileLock(path, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:  # a home that cannot be written: nobody trains there
        return False
