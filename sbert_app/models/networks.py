"""The networks of converted models, in the data home: each made once, and checked whenever it is loaded."""

import hashlib
import os
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
from sbert_app.models.files.finding import bundled_folder
from sbert_app.models.files.layout import first_line
from sbert_app.storage import atomic_folder, check, checksums, discard, read_object, write_object, writing

NETWORK, SEALS = "model.xml", "checksums.json"
MOST = 12  # networks; of the bundled model's size, a gigabyte
SECONDS = 600  # that a conversion may take
POLL_SECONDS = 0.1
CHECK_SECONDS = 1.0  # to wait while another process checks the same network
ROOT = Path(__file__).parents[2]
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # OpenVINO, imported after this, then has none to send


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
                with writing("The converted model"), atomic_folder(target) as temporary:
                    _convert(kind, temporary / NETWORK, folders, stop)
                    write_object(temporary / SEALS, {"files": checksums(temporary)})
            os.utime(target)
            _prune(home)
    except Timeout:  # another process converts it at this moment
        return None
    except (UserError, OSError) as error:
        raise ConversionError(first_line(error)) from error
    return target / NETWORK


def is_quick(kind: str, folders: tuple[Path, ...]) -> bool:
    """Whether it is converted within a second: the bundled encoder, which needs no transformers."""
    return kind == "encoder" and folders == (bundled_folder(),)


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


def _convert(kind: str, out: Path, folders: tuple[Path, ...], stop: Event) -> None:
    """Convert here what is known byte by byte, else in another process: a model from elsewhere may take one down with it."""
    if is_quick(kind, folders):
        from sbert_app.models.conversion import convert

        convert(kind, out, *folders)
    else:
        _run([kind, str(out), *map(str, folders)], stop)


def _run(arguments: list[str], stop: Event) -> None:
    """Convert in another process. Raises ConversionError with the last line that it wrote, or if stopped."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
    command = [sys.executable, "-m", "sbert_app.models.conversion", *arguments]
    deadline, pipe, nowhere = time.monotonic() + SECONDS, subprocess.PIPE, subprocess.DEVNULL
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(command, env=environment, stdin=pipe, stdout=nowhere, stderr=errors) as process:  # noqa: S603 - ours
            try:
                while process.poll() is None and not stop.wait(POLL_SECONDS) and time.monotonic() < deadline:
                    pass
            finally:  # Ctrl-C in the shell too
                process.kill()
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    if process.returncode:
        raise ConversionError(lines[-1] if lines else f"the conversion ended with status {process.returncode}")


def _prune(home: Path) -> None:
    """Delete the networks that were not used for longest."""
    networks = [path.parent for path in home.glob(f"[!.]*/{NETWORK}")]  # hidden: being written
    for path in sorted(networks, key=lambda path: path.stat().st_mtime)[:-MOST]:
        with suppress(OSError):  # in use, on Windows
            discard(path)
