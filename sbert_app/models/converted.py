"""Models converted for OpenVINO: made once in a process of their own, kept in the data home, checked whenever they are loaded."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Event

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.models.files.layout import first_line
from sbert_app.storage import atomic_folder, check, checksums, discard, read_object, write_object, writing

KEY = re.compile(r"[0-9a-f]{24}")  # of `_key`
NETWORK, SEALS = "model.xml", "checksums.json"
MOST = 12  # networks; of the bundled model's size, a gigabyte
SECONDS = 600  # that a conversion may take; the bundled model takes 10
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # to wait while another process checks the same network
ROOT = Path(__file__).parents[2]


class ConversionError(Exception):
    """A model cannot be converted, or not now. The message is one line."""


def network(kind: str, folders: tuple[Path, ...], home: Path, stop: Event, converts: bool = True) -> Path | None:
    """The .xml file of a model's network, converted if it is not there or damaged, unless `converts` is False: then None.

    kind: "encoder" or "cross-encoder"; folders: the model's, and its adapter's if it has one. A second process waits,
    unless it converts nothing: then None. Raises ConversionError.
    """
    target = home / _key(kind, folders)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / f"{target.name}.lock", timeout=-1 if converts else CHECK_SECONDS):
            if not _sound(target):
                if not converts:
                    return None
                _convert(kind, folders, target, stop)
            os.utime(target)
            _prune(home)
    except Timeout:  # another process converts it at this moment
        return None
    except (UserError, OSError) as error:
        raise ConversionError(first_line(error)) from error
    return target / NETWORK


def _key(kind: str, folders: tuple[Path, ...]) -> str:
    """Changes with any of the model's files, and with the versions of what converts them."""
    digest = hashlib.blake2b(digest_size=12)
    for part in (kind, version("openvino"), version("transformers"), *(f"{checksums(folder)}" for folder in folders)):
        digest.update(part.encode())
    return digest.hexdigest()


def _sound(target: Path) -> bool:
    """Whether the network is there, every byte as it was written; a damaged one is deleted."""
    if not target.exists():
        return False
    try:
        check(target, read_object(target / SEALS)["files"])
    except (UserError, OSError, ValueError, LookupError):
        discard(target)
        return False
    return True


def _convert(kind: str, folders: tuple[Path, ...], target: Path, stop: Event) -> None:
    with writing("The converted model"), atomic_folder(target) as temporary:
        _run([kind, str(temporary / NETWORK), *map(str, folders)], stop)
        write_object(temporary / SEALS, {"files": checksums(temporary)})


def _run(arguments: list[str], stop: Event) -> None:
    """Convert in another process. Raises ConversionError with the last line that it wrote, or if stopped."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-m", "sbert_app.models.conversion", *arguments]
    deadline = time.monotonic() + SECONDS
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors) as process:  # noqa: S603 - ours
            while process.poll() is None:
                if stop.wait(POLL_SECONDS) or time.monotonic() > deadline:
                    process.kill()
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    if process.returncode:
        raise ConversionError(lines[-1] if lines else f"the conversion ended with status {process.returncode}")


def _prune(home: Path) -> None:
    """Delete the networks that were not used for longest."""
    networks = [path for path in home.iterdir() if KEY.fullmatch(path.name) and (path / NETWORK).exists()]
    for path in sorted(networks, key=lambda path: path.stat().st_mtime)[:-MOST]:
        with suppress(OSError):  # in use, on Windows
            discard(path)
