"""The events of a run: one JSON object a line, appended while it trains. A line that cannot be read is left out."""

from pathlib import Path
from typing import Any

from sbert_app.storage import discard, seal, unseal, write_whole

Event = dict[str, Any]


def append(path: Path, event: Event) -> None:
    """Add one event at the end. Raises OSError where the disk is full."""
    with path.open("a", encoding="utf-8") as file:
        file.write(seal(event) + "\n")


def read(path: Path) -> list[Event]:
    """All events in order. What a killed process left half-written, and what rotted, is no event."""
    if not path.is_file():
        return []
    events = map(_event, path.read_bytes().split(b"\n")[:-1])
    return [event for event in events if event is not None]


def forget_after(path: Path, step: int) -> None:
    """Keep the events up to a step: what came after the checkpoint will come again."""
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
