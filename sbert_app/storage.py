"""Read, write and delete the app's own files: atomic writes, checksums, errors as one-sentence messages."""

import errno
import json
import logging
import os
import re
import shutil
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.watching import Private

log = logging.getLogger(__name__)

LEFTOVER_SECONDS = 24 * 3600  # an older unfinished folder was left by a killed process
SEAL = "checksum"
NEW, DELETED = ".sbert-studio-new-", ".sbert-studio-deleted-"  # what is being written or deleted; nothing else has such a name
LEFTOVER = re.compile(f"(?:{re.escape(NEW)}|{re.escape(DELETED)})[0-9a-f]{{32}}")
FORMAT = 1  # of plan.json and corpus.json; older files have no format number
CHUNK_BYTES = 1024 * 1024
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ACCESS_ERRORS = (errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)  # the file may be intact
ERRNO = re.compile(r"(?:os error |Errno )(\d+)")
CUT_SHORT = re.compile(r"No space left on device|\d+ requested and \d+ written")  # texts of FAISS and NumPy, which give no errno


class UnreadableError(UserError):
    """A file of this app cannot be read now but may be intact."""


class DamagedError(UnreadableError):
    """A file of this app is damaged for good. It may be deleted if its content can be recomputed."""


@contextmanager
def reading(thing: str, way_out: str) -> Iterator[None]:
    """Convert any error in the block: UnreadableError if the system denies access or memory, else DamagedError."""
    try:
        yield
    except UnreadableError:
        raise
    except Exception as error:  # FAISS, Arrow, safetensors and json each raise their own errors for a damaged file
        log.warning("%s cannot be read: %s: %s", Private(thing), type(error).__name__, error)
        if isinstance(error, MemoryError):
            raise UnreadableError(f"{thing} does not fit into memory. Close other programs and try again.") from error
        if isinstance(error, OSError) and error.errno in ACCESS_ERRORS:
            raise UnreadableError(f"{thing} cannot be read: {error.strerror}. Check who may read the data home.") from error
        raise DamagedError(f"{thing} is damaged. {way_out}") from error


def read_object(path: Path) -> dict[str, Any]:
    """Read what `write_object` wrote. Raises ValueError or OSError if damaged, UnreadableError if from a newer version."""
    content = unseal(path.read_bytes())
    if content.pop("format", FORMAT) != FORMAT:
        raise UnreadableError(f"'{path.parent.name}' was saved by a newer version of this app. Update the app to open it.")
    return content


def write_object(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with its format number and a checksum, atomically."""
    write_whole(path, seal({"format": FORMAT, **content}))


def seal(content: Mapping[str, Any]) -> str:
    """Serialise an object as one line of JSON that includes its own checksum."""
    return json.dumps({**content, SEAL: _checksum_of(content)})


def unseal(line: str | bytes) -> dict[str, Any]:
    """Parse a line of `seal`; older lines without a checksum pass. Raises ValueError if the content has changed."""
    content = json.loads(line)
    if not isinstance(content, dict):
        raise ValueError("not an object")
    expected = content.pop(SEAL, None)
    if expected is not None and expected != _checksum_of(content):
        raise ValueError("changed since it was written")
    return content


def _checksum_of(content: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(content).encode()):08x}"


def checksum(path: Path) -> str:
    """CRC-32 of a file, 8 hex digits. Reads 2.5 GB/s and detects any burst of up to 32 flipped bits."""
    value, buffer = 0, memoryview(bytearray(CHUNK_BYTES))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            value = zlib.crc32(buffer[:size], value)
    return f"{value:08x}"


def checksums(folder: Path) -> dict[str, str]:
    """The checksum of every file below a folder, by relative path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    with ThreadPoolExecutor() as pool:  # zlib releases the GIL
        return {path.relative_to(folder).as_posix(): value for path, value in zip(files, pool.map(checksum, files), strict=True)}


def check(folder: Path, expected: Mapping[str, str]) -> None:
    """Raise ValueError or OSError if a file does not match its checksum. Call it before a library parses the bytes."""
    with ThreadPoolExecutor() as pool:
        for name, value in zip(expected, pool.map(lambda name: checksum(folder / name), expected), strict=True):
            if value != expected[name]:
                raise ValueError(f"{name} has changed since it was written")


@contextmanager
def writing(thing: str) -> Iterator[None]:
    """Convert a failed write, whichever library reports it, to a UserError with the system's reason."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if (failure := write_failure(error)) is None:
            raise
        way_out = "Free some space, then try again." if failure.errno in FULL else "Check who may write to the data home."
        raise UserError(f"{thing} cannot be written: {failure.strerror}. {way_out}") from error


def hold(path: Path, thing: str, refusal: UserError) -> FileLock:
    """Lock a file of `thing` until the lock is released, by any thread. Raises `refusal` if another process has it."""
    lock = FileLock(path, thread_local=False)
    try:
        with writing(thing):
            lock.acquire(timeout=1)  # a look whether it is held takes a moment
    except Timeout as error:
        raise refusal from error
    return lock


@contextmanager
def writing_to(path: Path, option: str) -> Iterator[None]:
    """Convert a failed write to the file that the user gave as `--option` to a UserError."""
    try:
        yield
    except OSError as error:
        raise UserError(f"Cannot write '{path}': {error.strerror}. Choose another --{option}.") from error


def write_failure(error: BaseException) -> OSError | None:
    """The system error behind a failed write, None if there is none. Safetensors, FAISS, NumPy and shutil give only its text."""
    if isinstance(error, OSError) and error.errno:
        return OSError(error.errno, os.strerror(error.errno))  # pyarrow's text is its own
    match = ERRNO.search(str(error))
    number = int(match[1]) if match else errno.ENOSPC if CUT_SHORT.search(str(error)) else 0
    return OSError(number, os.strerror(number)) if number else None


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill; it becomes `target` when the block ends and is deleted if the block fails."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.mkdir()
        yield temporary


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically: a reader sees the old text or the new one, never a part."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a file or folder to write; it becomes `path` when the block ends and is deleted if the block fails."""
    temporary = _hidden(path, NEW)
    try:
        yield temporary
        temporary.replace(path)
    finally:
        _remove(temporary)


def discard(path: Path) -> None:
    """Delete a file or folder: renamed first, so it is gone even if the process is killed. Raises OSError if that fails."""
    hidden = _hidden(path, DELETED)
    path.rename(hidden)
    _remove(hidden)


def sweep(folder: Path) -> None:
    """Delete what killed processes left half written or half deleted below a folder of the data home. Follows no link."""
    for parent, folders, files in os.walk(folder):
        for name in filter(LEFTOVER.fullmatch, (*folders, *files)):
            path = Path(parent, name)
            with suppress(OSError):  # another process may sweep it first
                if name.startswith(DELETED) or time.time() - path.lstat().st_mtime > LEFTOVER_SECONDS:
                    _remove(path)


def _hidden(path: Path, prefix: str) -> Path:
    return path.with_name(f"{prefix}{uuid.uuid4().hex}")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
