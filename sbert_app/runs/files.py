"""What a run keeps beside its model: events, one JSON object a line; a lock; and named tensors, its checkpoint and best weights."""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.storage import SEAL, discard, seal, unseal, write_whole, writing

if TYPE_CHECKING:
    from sbert_app.training.trainer import State

Event = dict[str, Any]


def append_event(path: Path, event: Event) -> None:
    """Append one event. Raises OSError if the disk is full."""
    with path.open("a", encoding="utf-8") as file:
        file.write(seal(event) + "\n")


def read_events(path: Path) -> list[Event]:
    """All events in order. Damaged lines, and a last one half-written by a killed process, are left out."""
    if not path.is_file():
        return []
    events = map(_event, path.read_bytes().split(b"\n")[:-1])
    return [event for event in events if event is not None]


def forget_events_after(path: Path, step: int) -> None:
    """Drop the events after a step: training from its checkpoint will repeat them."""
    kept = "".join(seal(event) + "\n" for event in read_events(path) if event["step"] <= step)
    if path.is_dir():
        discard(path)
    write_whole(path, kept)


def _event(line: bytes) -> Event | None:
    try:
        event = unseal(line)
    except ValueError:
        return None
    return event if isinstance(event.get("type"), str) and isinstance(event.get("step"), int) else None


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


def save_tensors(path: Path, state: "State") -> None:
    """Write a temporary file, then rename it: a killed process leaves the old file intact."""
    from safetensors.torch import save_file

    state = {name: tensor.contiguous() for name, tensor in state.items()}
    temporary = _temporary(path)
    try:
        save_file(state, temporary, metadata={SEAL: _checksum(state)})
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)  # frees space on a full disk, where the state is written next
        raise


def load_tensors(path: Path) -> "State | None":
    """The tensors, None if there is no file. Raises ValueError, OSError or SafetensorError if they are damaged."""
    from safetensors import safe_open
    from safetensors.torch import load_file

    if not path.exists():
        return None
    with safe_open(path, "pt") as file:
        expected = (file.metadata() or {}).get(SEAL)
    state = load_file(path)
    if expected is not None and expected != _checksum(state):
        raise ValueError(f"{path.name} has changed since it was written")
    return state


def drop_tensors(path: Path) -> None:
    """Delete the file and any temporary one that a killed process left."""
    for file in (path, _temporary(path)):
        file.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def _checksum(state: "State") -> str:
    """CRC-32 over names, shapes and bytes, 8 hex digits."""
    import torch

    value = 0
    for name, tensor in sorted(state.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return f"{value:08x}"
