"""Make sure that everything which must be written has a place: the data home, temporary files, what libraries compile or fetch.

Called first, before any library that looks for such a place is imported.
"""

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

log = logging.getLogger(__name__)

PREFIX = "sbert-studio-"
KEPT_SECONDS = 24 * 3600  # a temporary folder older than this was left by a process that was killed
PROBE_BYTES = 64 * 1024  # a full disk takes an empty file
COMPILED = ("umap", "pynndescent")  # they keep what they compile beside their source, where they can


def prepare(settings: Settings) -> Settings:
    """Give this process a temporary folder of its own, and the settings a home that can be written.

    Where the wanted home cannot be written, the log says so, and the home is temporary. Raises UserError where nothing can be.
    """
    temporary = _temporary_folder(settings.home)
    reason = _unwritable(settings.home)
    if reason:
        log.warning(
            "The data home %s cannot be written (%s). What is saved now is gone when the app ends. Set SBERT_STUDIO_HOME.",
            settings.home,
            reason,
        )
        settings = replace(settings, home=temporary / "home", temporary=True)
        settings.home.mkdir()
        os.environ["SBERT_STUDIO_HOME"] = str(settings.home)
    _place_for_libraries(settings.cache)
    return settings


def _temporary_folder(home: Path) -> Path:
    """Where this process and its children put what they need for a moment. Deleted at its end, or a day after it was killed."""
    try:
        parent = Path(tempfile.gettempdir())
    except FileNotFoundError:  # not one of the usual places can be written
        parent = home / "cache" / "temporary"
        if _unwritable(parent):
            raise UserError(f"Neither '{home}' nor a folder for temporary files can be written. Set SBERT_STUDIO_HOME.") from None
    _sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    lock = FileLock(folder / "lock")  # tells other processes that this one lives
    lock.acquire()
    atexit.register(_remove, folder, lock)
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    return folder


def clean() -> None:
    """Delete this process's temporary folder now, where Python's own end is not awaited."""
    folder = Path(tempfile.gettempdir())
    if folder.name.startswith(PREFIX):
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: Path) -> None:
    """Delete the folders of earlier processes, save those that are young or in use."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError, Timeout):  # another user's, or just now deleted by another app
            if time.time() - folder.lstat().st_mtime > KEPT_SECONDS and folder.is_dir() and not folder.is_symlink():
                lock = FileLock(folder / "lock", timeout=0)
                lock.acquire()
                _remove(folder, lock)


def _remove(folder: Path, lock: FileLock) -> None:
    lock.release()
    shutil.rmtree(folder, ignore_errors=True)


def _unwritable(folder: Path) -> str:
    """Why nothing can be written into a folder, which is made where it is missing; "" where something can."""
    if not folder.is_absolute():
        return "there is no home folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(PROBE_BYTES))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _place_for_libraries(cache: Path) -> None:
    """Where their usual places cannot be written, numba compiles into the data home, and the Hub's files go there."""
    if not all(map(_beside_source, COMPILED)):
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache / "numba"))
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").joinpath("huggingface")
    try:
        reachable = _may_write(usual.expanduser())
    except RuntimeError:  # nobody knows where the user's home is
        reachable = False
    if not reachable:
        os.environ.setdefault("HF_HOME", str(cache / "huggingface"))


def _beside_source(package: str) -> bool:
    """Whether a package's folder for compiled code can be written. The package is not imported."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    return not folders or _may_write(Path(folders[0]) / "__pycache__")


def _may_write(folder: Path) -> bool:
    """Whether a folder, or the nearest one above it that exists, lets this user write."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if os.access(path, os.F_OK))
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
