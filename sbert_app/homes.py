"""Choose writable folders: data home, temporary files, library caches. Call before importing a library that uses them."""

import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.settings import Settings
from sbert_app.storage import sweep

log = logging.getLogger(__name__)

PREFIX, LOCK = "sbert-studio-", "sbert-studio.lock"  # of a temporary folder, and the file in it that shows that it is ours
STARTING_SECONDS = 60  # after which the temporary folder of a process is locked, unless it was killed
UPLOAD_SECONDS = 3600  # without another byte: it was given up
PROBE_BYTES = 64 * 1024  # not 0: a full disk still accepts an empty file
COMPILED = ("umap", "pynndescent")  # numba caches their compiled code beside their source if it can


def prepare(settings: Settings) -> Settings:
    """Create this process's temporary folder; return settings with a writable home, temporary if need be. Raises UserError."""
    temporary = _temporary_folder(settings.home)
    if reason := unwritable(settings.home):
        what_follows = "What you save is lost when the app ends. Set SBERT_STUDIO_HOME."
        log.warning("The data home %s cannot be written (%s). %s", settings.home, reason, what_follows)
        settings = replace(settings, home=temporary / "home", temporary=True)
        settings.home.mkdir()
        os.environ["SBERT_STUDIO_HOME"] = str(settings.home)
    for folder in (settings.models, settings.runs, settings.corpora, settings.cache):
        sweep(folder)
    _redirect_caches(settings.cache)
    return settings


def _temporary_folder(home: Path) -> Path:
    """Create the temporary folder of this process and its children. Deleted at exit; after a kill, by the next start."""
    try:
        parent = Path(tempfile.gettempdir())
    except FileNotFoundError:  # none of the usual folders is writable
        parent = home / "cache" / "temporary"
        if unwritable(parent):
            raise UserError(f"Neither '{home}' nor a folder for temporary files can be written. Set SBERT_STUDIO_HOME.") from None
    for left in parent.glob(f"{PREFIX}*"):  # of earlier processes, except those that are recent or locked
        with contextlib.suppress(OSError, Timeout):  # another user's folder, or another process has just deleted it
            if (left / LOCK).is_file() and not left.is_symlink() and time.time() - left.stat().st_mtime > STARTING_SECONDS:
                lock = FileLock(left / LOCK, timeout=0)
                lock.acquire()
                _remove(left, lock)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = FileLock(folder / LOCK)  # held as long as this process lives
    lock.acquire()
    atexit.register(_remove, folder, lock)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    return folder


def clean_uploads() -> None:
    """Delete what uploads that were given up have left: a file, where a finished one is a folder."""
    for left in Path(tempfile.gettempdir(), "gradio").glob("tmp*"):
        with contextlib.suppress(OSError):
            if left.is_file() and time.time() - left.stat().st_mtime > UPLOAD_SECONDS:
                left.unlink()


def clean() -> None:
    """Delete this process's temporary folder now, for an exit that skips atexit."""
    folder = Path(tempfile.gettempdir())
    if (folder / LOCK).is_file():
        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path, lock: FileLock) -> None:
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def unwritable(folder: Path) -> str:
    """Return why a folder (created if missing) is not writable, "" if it is."""
    if not folder.is_absolute():
        return "there is no home folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _redirect_caches(cache: Path) -> None:
    """Move numba's and the Hub's caches to the data home if their default folders are not writable."""
    if not all(map(_caches_beside_source, COMPILED)):
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache / "numba"))
    hub_cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").joinpath("huggingface")
    with contextlib.suppress(RuntimeError):  # the user's home folder is unknown
        if _may_write(hub_cache.expanduser()):
            return
    os.environ.setdefault("HF_HOME", str(cache / "huggingface"))


def _caches_beside_source(package: str) -> bool:
    """Whether the `__pycache__` of a package is writable. Does not import the package."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return not folders or _may_write(Path(folders[0]) / "__pycache__")


def _may_write(folder: Path) -> bool:
    """Whether this user may write to a folder or, if it does not exist, to its nearest existing parent."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if os.access(path, os.F_OK))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
