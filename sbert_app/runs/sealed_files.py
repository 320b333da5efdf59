"""What a run keeps beside its model: events, one JSON object a line; a lock; and named tensors, its checkpoint and best weights."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from sbert_app.errors import UserError
from sbert_app.runs.records import Baseline, CurveBegun, DevScore, Event, Kept, Lent, Loss, Tried, from_json
from sbert_app.storage import SEAL, discard, hold, reading, replacing, seal, unseal, write_whole

if TYPE_CHECKING:
    from sbert_app.training.trainer import State

EVENTS: dict[str, type[Event]] = {
    "lent": Lent,
    "tried": Tried,
    "baseline": Baseline,
    "step": Loss,
    "evaluation": DevScore,
    "kept": Kept,
    "curve": CurveBegun,
}
CHECKPOINT, BEST = "checkpoint", "best"  # the state to resume from; the weights with the best dev score so far


class RunFiles:
    """The files of a run's folder that change while it trains."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock, self._events = folder / "lock", folder / "events.jsonl"

    def hold(self) -> FileLock:
        """Lock the run, until the lock is released. Raises UserError if somebody else works on it."""
        return hold(self._lock, "The run", UserError("This run is already being worked on, here or in another window."))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run while the block runs."""
        lock = self.hold()
        try:
            yield
        finally:
            lock.release()

    def locked(self) -> bool:
        """Whether the run is being trained, or waits for its turn, in any process."""
        try:
            with FileLock(self._lock, timeout=0):
                return False
        except Timeout:
            return True
        except OSError:  # a data home without write access: no process trains there
            return False

    def add_event(self, event: Event) -> Event:
        """Append one event, and return it. Raises OSError if the disk is full."""
        with self._events.open("a", encoding="utf-8") as file:
            file.write(_line(event))
        return event

    def events(self) -> list[Event]:
        """All events in order. Damaged lines, and a last one half-written by a killed process, are left out."""
        with reading("The curve of this run", "Delete the run."):
            lines = self._events.read_bytes().split(b"\n")[:-1] if self._events.is_file() else []
        return [event for event in map(_event, lines) if event is not None]

    def forget_events_after(self, step: int) -> None:
        """Drop the events after a step, which training from its checkpoint will repeat, and that it was stopped."""
        kept = "".join(_line(event) for event in self.events() if event.step <= step and not isinstance(event, Kept))
        if self._events.is_dir():
            discard(self._events)
        write_whole(self._events, kept)

    def save(self, name: str, state: "State") -> None:
        """Keep CHECKPOINT or BEST. A killed process leaves the old file intact."""
        from safetensors.torch import save_file

        state = {key: tensor.contiguous() for key, tensor in state.items()}
        with replacing(self._tensors(name)) as temporary:
            save_file(state, temporary, metadata={SEAL: _checksum(state)})

    def load(self, name: str) -> "State | None":
        """CHECKPOINT or BEST, None if there is none. Raises DamagedError if it is damaged."""
        from safetensors import safe_open
        from safetensors.torch import load_file

        path = self._tensors(name)
        with reading(f"The {name} of this run", "Delete the run and start it again."):
            if not path.exists():
                return None
            with safe_open(path, "pt") as file:
                expected = (file.metadata() or {}).get(SEAL)
            state = load_file(path)
            if expected is not None and expected != _checksum(state):
                raise ValueError(f"{path.name} has changed since it was written")
            return state

    @property
    def has_checkpoint(self) -> bool:
        return self._tensors(CHECKPOINT).exists()

    def drop_checkpoints(self) -> None:
        """Delete checkpoint and best weights, which a finished run does not need."""
        for name in (CHECKPOINT, BEST):
            self._tensors(name).unlink(missing_ok=True)

    def _tensors(self, name: str) -> Path:
        return self.folder / f"{name}.safetensors"


def _line(event: Event) -> str:
    name = next(name for name, kind in EVENTS.items() if isinstance(event, kind))
    return seal({"type": name, **asdict(event)}) + "\n"


def _event(line: bytes) -> Event | None:
    try:
        content = unseal(line)
        event = from_json(EVENTS[content["type"]], content)
    except (ValueError, KeyError, TypeError):
        return None
    return event if isinstance(event.step, int) else None


def _checksum(state: "State") -> str:
    """CRC-32 over names, shapes and bytes, 8 hex digits."""
    import torch

    value = 0
    for name, tensor in sorted(state.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return f"{value:08x}"
