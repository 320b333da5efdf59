"""The events of a run: one JSON object per line, appended while it trains."""

from pathlib import Path
from typing import Any

from sbert_app.storage import discard, seal, unseal, write_whole

Event = dict[str, Any]


def append(path: Path, event: Event) -> None:
    """Append one event. Raises OSError if the disk is full."""
    with path.open("a", encoding="utf-8") as file:
        file.write(seal(event) + "\n")


def read(path: Path) -> list[Event]:
    """All events in order. Damaged lines, and a last one half-written by a killed process, are left out."""
    if not path.is_file():
        return []
    events = map(_event, path.read_bytes().split(b"\n")[:-1])
    return [event for event in events if event is not None]


def forget_after(path: Path, step: int) -> None:
    """Drop the events after a step: training from its checkpoint will repeat them."""
    kept = "".join(seal(event) + "\n" for event in read(path) if event["step"] <= step)
    if path.is_dir():
        discard(path)
    write_whole(path, kept)


def _event(line: bytes) -> Event | None:
    try:
        event = unseal(line)
    except ValueError:
        return None
    return event if isinstance(event.get("type"), str) and isinstance(event.get("step"), int) else None
