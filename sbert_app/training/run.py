"""A run on disk: plan, examples, events, checkpoints, result. Whatever is written is there whole or not at all.

plan.json  examples.parquet  events.jsonl  checkpoint.safetensors  best.safetensors  model/  result.json  state.json  lock
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout
from safetensors.torch import load_file, save_file

from sbert_app.errors import UserError
from sbert_app.storage import atomic_folder, write_whole
from sbert_app.training.plan import Plan
from sbert_app.training.splits import Split, from_frame, to_frame
from sbert_app.training.trainer import State

WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
NAME_LENGTH = 60


@dataclass(frozen=True)
class RunInfo:
    """One row of the list of runs."""

    id: str
    name: str
    state: str
    message: str
    created: str
    owner: str
    has_model: bool

    @property
    def live(self) -> bool:
        return self.state in (WAITING, RUNNING)

    @property
    def model(self) -> str:
        """The name under which the registry finds the trained model."""
        return f"runs/{self.id}"


class Run:
    """The folder of one run. Several processes may read it; only the one that holds `lock` writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.id = folder.name

    @classmethod
    def create(cls, home: Path, name: str, owner: str, plan: Plan, split: Split) -> "Run":
        """Write a new run, not started yet. Its id cannot be guessed: in hosted mode it is the key to the run."""
        run = cls(home / f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(8)}")
        examples = split.train
        facts = {
            "name": name[:NAME_LENGTH],
            "owner": owner,
            "created": time.strftime("%Y-%m-%d %H:%M:%S"),
            "plan": plan.to_json(),
            "kind": examples.kind,
            "labels": examples.labels,
            "positive": examples.positive,
            "score_range": examples.score_range,
            "fingerprint": split.fingerprint,
            "leaks": split.leaks,
            "shared": split.shared,
        }
        with atomic_folder(run.folder) as folder:
            (folder / "plan.json").write_text(json.dumps(facts, ensure_ascii=False, indent=2), encoding="utf-8")
            (folder / "state.json").write_text(json.dumps({"state": WAITING, "message": ""}), encoding="utf-8")
            to_frame(split).to_parquet(folder / "examples.parquet", index=False)
        return run

    @property
    def facts(self) -> dict[str, Any]:
        return _read(self.folder / "plan.json")

    @property
    def plan(self) -> Plan:
        return Plan.from_json(self.facts["plan"])

    @property
    def model(self) -> Path:
        return self.folder / "model"

    def split(self) -> Split:
        """The examples as they were split when the run was made."""
        facts = self.facts
        frame = pd.read_parquet(self.folder / "examples.parquet")
        return from_frame(frame, facts)

    def info(self) -> RunInfo:
        """What the list shows. A run that says it runs while nobody holds its lock was killed: interrupted."""
        facts, state = self.facts, _read(self.folder / "state.json")
        word = state.get("state", INTERRUPTED)
        if word in (RUNNING, WAITING) and not self.locked():
            word = INTERRUPTED
        has_model = (self.model / "config.json").exists()
        return RunInfo(self.id, facts["name"], word, state.get("message", ""), facts["created"], facts["owner"], has_model)

    def say(self, state: str, message: str = "") -> None:
        write_whole(self.folder / "state.json", json.dumps({"state": state, "message": message}, ensure_ascii=False))

    def rename(self, name: str) -> None:
        write_whole(self.folder / "plan.json", json.dumps(self.facts | {"name": name[:NAME_LENGTH]}, ensure_ascii=False, indent=2))

    # The lock: released by the system when its process dies

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run. Raises UserError where another thread or process is working on it."""
        try:
            with FileLock(self.folder / "lock", timeout=1):  # a glance of `locked` is soon over
                yield
        except Timeout as error:
            raise UserError("This run is already being worked on, here or in another window.") from error

    def locked(self) -> bool:
        try:
            with FileLock(self.folder / "lock", timeout=0):
                return False
        except Timeout:
            return True

    # Events: one JSON object a line, appended

    def add_event(self, event: dict[str, Any]) -> None:
        with (self.folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """All events in order. A last line that a killed process left half-written is no event."""
        path = self.folder / "events.jsonl"
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
        return [json.loads(line) for line in lines[:-1]]

    def forget_events_after(self, step: int) -> None:
        """What came after the checkpoint will come again."""
        kept = "".join(json.dumps(event) + "\n" for event in self.events() if event.get("step", 0) <= step)
        write_whole(self.folder / "events.jsonl", kept)

    # Weights

    def save_checkpoint(self, state: State) -> None:
        self._save("checkpoint", state)

    def checkpoint(self) -> State | None:
        return self._load("checkpoint")

    def save_best(self, weights: State) -> None:
        self._save("best", weights)

    def best(self) -> State | None:
        return self._load("best")

    def drop_checkpoints(self) -> None:
        """A finished run needs its model only."""
        for name in ("checkpoint", "best"):
            (self.folder / f"{name}.safetensors").unlink(missing_ok=True)

    def _save(self, name: str, state: State) -> None:
        temporary = self.folder / f".{name}"
        save_file({key: value.contiguous() for key, value in state.items()}, temporary)
        temporary.replace(self.folder / f"{name}.safetensors")

    def _load(self, name: str) -> State | None:
        path = self.folder / f"{name}.safetensors"
        return load_file(path) if path.exists() else None

    # The result

    def save_result(self, result: dict[str, Any]) -> None:
        write_whole(self.folder / "result.json", json.dumps(result, ensure_ascii=False))

    def result(self) -> dict[str, Any] | None:
        return _read(self.folder / "result.json") or None


def _read(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content
