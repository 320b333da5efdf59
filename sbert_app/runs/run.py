"""A run on disk: plan, examples, events, checkpoints, result. Whatever is written is there whole or not at all.

plan.json  examples.parquet  events.jsonl  checkpoint.safetensors  best.safetensors  model/  result.json  state.json  lock
"""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock

from sbert_app.labelled.splits import Split, from_frame, to_frame
from sbert_app.runs import events, locks
from sbert_app.runs.plan import Plan
from sbert_app.storage import UnreadableError, atomic_folder, check, checksum, read_object, reading, write_object, writing
from sbert_app.training import weights
from sbert_app.training.trainer import State

WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
DAMAGED = "damaged"  # its plan cannot be read: it can be deleted, nothing else
STATES = (WAITING, RUNNING, INTERRUPTED, FINISHED, STOPPED, FAILED)
EXAMPLES = "examples.parquet"
RESULT_PARTS = {"verdict", "before", "after", "gains", "parts", "best_step", "steps"}
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
        with writing("The run"), atomic_folder(run.folder) as folder:
            to_frame(split).to_parquet(folder / EXAMPLES, index=False)
            write_object(folder / "state.json", {"state": WAITING, "message": ""})
            write_object(folder / "plan.json", facts | {"files": {EXAMPLES: checksum(folder / EXAMPLES)}})
        return run

    @property
    def facts(self) -> dict[str, Any]:
        """What `create` wrote. Raises DamagedError where it is not whole."""
        with reading("This run", "Delete it."):
            facts = read_object(self.folder / "plan.json")
            Plan.from_json(facts["plan"])
            if not all(isinstance(facts[key], str) for key in ("name", "owner", "created", "fingerprint")):
                raise TypeError("plan.json holds values of another type")
            return facts

    @property
    def plan(self) -> Plan:
        return Plan.from_json(self.facts["plan"])

    @property
    def model(self) -> Path:
        return self.folder / "model"

    def split(self) -> Split:
        """The examples as they were split when the run was made. Raises DamagedError where they are not whole."""
        facts = self.facts
        with reading("The examples of this run", "Delete the run and start it again from your file."):
            check(self.folder, facts.get("files", {}))
            return from_frame(pd.read_parquet(self.folder / EXAMPLES), facts)

    def info(self) -> RunInfo:
        """What the list shows. A run that says it runs while nobody holds its lock was killed: interrupted."""
        try:
            facts, has_model = self.facts, (self.model / "config.json").is_file()
        except (UnreadableError, OSError) as error:
            return RunInfo(self.id, self.id, DAMAGED, str(error), self.id[:10], "", has_model=False)
        word, message = self._state()
        if word in (RUNNING, WAITING) and not self.locked():
            word = INTERRUPTED
        return RunInfo(self.id, facts["name"], word, message, facts["created"], facts["owner"], has_model)

    def _state(self) -> tuple[str, str]:
        """State and message. Where they are lost, what lies in the folder tells the state."""
        try:
            with reading("The state of this run", "Delete the run."):
                state = read_object(self.folder / "state.json")
                return STATES[STATES.index(state["state"])], str(state["message"])
        except UnreadableError:
            return (FINISHED if self.conclusion() else INTERRUPTED), ""

    def conclusion(self) -> dict[str, Any] | None:
        """The result, where it and the model are there, so that nothing is left to compute."""
        try:
            return self.result() if self.model.is_dir() else None
        except UnreadableError:
            return None

    def say(self, state: str, message: str = "") -> None:
        write_object(self.folder / "state.json", {"state": state, "message": message})

    def rename(self, name: str) -> None:
        with writing("The run"):
            write_object(self.folder / "plan.json", self.facts | {"name": name[:NAME_LENGTH]})

    # The lock: released by the system when its process dies

    def hold(self) -> FileLock:
        """Take the run for this process, until the lock is released. Raises UserError where another is working on it."""
        return locks.hold(self.folder / "lock")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the run while the block runs."""
        lock = self.hold()
        try:
            yield
        finally:
            lock.release()

    def locked(self) -> bool:
        """Whether somebody works on the run, or it waits for its turn, in whatever process."""
        return locks.held(self.folder / "lock")

    # Events

    def add_event(self, event: events.Event) -> None:
        events.append(self.folder / "events.jsonl", event)

    def events(self) -> list[events.Event]:
        """All events in order that can be read."""
        with reading("The curve of this run", "Delete the run."):
            return events.read(self.folder / "events.jsonl")

    def forget_events_after(self, step: int) -> None:
        """What came after the checkpoint will come again."""
        events.forget_after(self.folder / "events.jsonl", step)

    # Weights

    def save_checkpoint(self, state: State) -> None:
        weights.save(self.folder / "checkpoint.safetensors", state)

    def checkpoint(self) -> State | None:
        """Where training goes on, None at its beginning. Raises DamagedError where it is not whole."""
        return self._load("checkpoint")

    def save_best(self, state: State) -> None:
        weights.save(self.folder / "best.safetensors", state)

    def best(self) -> State | None:
        """The weights with the best dev score so far. Raises DamagedError where they are not whole."""
        return self._load("best")

    def drop_checkpoints(self) -> None:
        """A finished run needs its model only."""
        for name in ("checkpoint", "best"):
            weights.drop(self.folder / f"{name}.safetensors")

    def _load(self, name: str) -> State | None:
        with reading(f"The {name} of this run", "Delete the run and start it again."):
            return weights.load(self.folder / f"{name}.safetensors")

    # The result

    def save_result(self, result: dict[str, Any]) -> None:
        write_object(self.folder / "result.json", result)

    def result(self) -> dict[str, Any] | None:
        """The verdict and its numbers, None before the end. Raises DamagedError where they are not whole."""
        path = self.folder / "result.json"
        if not path.exists():
            return None
        with reading("The result of this run", "Delete the run, or save its model first."):
            result = read_object(path)
            if missing := RESULT_PARTS - result.keys():
                raise ValueError(f"result.json has no {', '.join(sorted(missing))}")
            return result
