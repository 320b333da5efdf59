"""The folder of one training run. Each file is written in full or not at all.

plan.json  examples.parquet  events.jsonl  checkpoint.safetensors  best.safetensors  model/  result.json  state.json  lock
"""

import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from sbert_app.errors import UserError
from sbert_app.labelled.example_set import Separation
from sbert_app.labelled.splits import Split, from_frame, to_frame
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import Event, RunResult, from_json
from sbert_app.runs.sealed_files import RunFiles
from sbert_app.storage import UnreadableError, atomic_folder, check, checksum, read_object, reading, write_object, writing

WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
DAMAGED = "damaged"  # its plan cannot be read: it can only be deleted
STATES = (WAITING, RUNNING, INTERRUPTED, FINISHED, STOPPED, FAILED)
EXAMPLES = "examples.parquet"
NO_RUN = "There is no such run. It may have been deleted; choose another."
NAME_LENGTH = 60
Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True)
class RunInfo:
    """One row of the list of runs. file, fingerprint: of the examples; file is "" for runs of older versions."""

    id: str
    name: str
    state: str
    message: str
    created: str
    owner: str
    has_model: bool
    file: str = ""
    fingerprint: str = ""

    @property
    def live(self) -> bool:
        return self.state in (WAITING, RUNNING)

    @property
    def model(self) -> str:
        """The trained model's name in the registry."""
        return f"runs/{self.id}"


@dataclass(frozen=True)
class RunState:
    """Everything that a run's folder says of it, read at one moment. shared: held-out sentences that occur in training."""

    info: RunInfo
    plan: Plan
    events: list[Event]
    result: RunResult | None
    kind: str  # of the examples
    separation: Separation
    shared: int
    stopping: bool = False  # asked to, not ended

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, kind)]


class Run(RunFiles):
    """Reads and writes a run. Several processes may read it; only the one that holds `lock` writes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.id = folder.name

    @classmethod
    def create(cls, home: Path, name: str, owner: str, plan: Plan, split: Split, file: str = "") -> "Run":
        """Write a new run, not started yet. Its random id is secret: in hosted mode it gives access to the run.

        file: the name of the file with the examples.
        """
        run = cls(home / f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(8)}")
        examples = split.train
        facts = {
            "name": name[:NAME_LENGTH],
            "owner": owner,
            "created": time.strftime("%Y-%m-%d %H:%M:%S"),
            "plan": asdict(plan),
            "kind": examples.kind,
            "labels": examples.labels,
            "positive": examples.positive,
            "score_range": examples.score_range,
            "fingerprint": split.fingerprint,
            "leaks": split.leaks,
            "shared": split.shared,
            "split": asdict(split.separation),
            "file": file,
        }
        with writing("The run"), atomic_folder(run.folder) as folder:
            to_frame(split).to_parquet(folder / EXAMPLES, index=False)
            write_object(folder / "state.json", {"state": WAITING, "message": ""})
            write_object(folder / "plan.json", facts | {"files": {EXAMPLES: checksum(folder / EXAMPLES)}})
        return run

    @property
    def facts(self) -> dict[str, Any]:
        """The content of plan.json. Raises DamagedError if it is damaged."""
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
        """The examples as split when the run was created. Raises DamagedError if they are damaged."""
        facts = self.facts
        with reading("The examples of this run", "Delete the run and start it again from your file."):
            check(self.folder, facts.get("files", {}))
            return from_frame(pd.read_parquet(self.folder / EXAMPLES), facts)

    def facts_for(self, owner: str) -> dict[str, Any]:
        """The same, for its owner; "" is anybody's. Raises UserError for another's; a damaged run has no known owner."""
        try:
            facts = self.facts
        except UnreadableError:
            if owner:
                raise UserError(NO_RUN) from None
            raise
        if owner not in ("", facts["owner"]):
            raise UserError(NO_RUN)
        return facts

    def state(self, owner: str = "") -> RunState:
        """The run as it is now, for its owner. Raises DamagedError if a file of it is damaged."""
        facts = self.facts_for(owner)
        how, shared = Separation(**facts.get("split", {})), int(facts.get("shared", 0))
        info = self._info(facts)  # first: a run that ends meanwhile is shown as running, not as ended without a result
        plan, events, result = Plan.from_json(facts["plan"]), self.events(), self.result()
        return RunState(info, plan, events, result, facts["kind"], how, shared)

    def info(self) -> RunInfo:
        """The run's row in the list."""
        try:
            return self._info(self.facts)
        except (UnreadableError, OSError) as error:
            return RunInfo(self.id, self.id, DAMAGED, str(error), self.id[:10], "", has_model=False)

    def _info(self, facts: dict[str, Any]) -> RunInfo:
        """A run whose state is running but whose lock is free was killed: interrupted."""
        has_model = (self.model / "config.json").is_file()
        state, message = self._written_state()
        if state in (RUNNING, WAITING) and not self.locked():
            state, message = self._written_state()  # it may have ended between the two looks
            state = INTERRUPTED if state in (RUNNING, WAITING) else state
        data = str(facts.get("file", "")), facts["fingerprint"]
        return RunInfo(self.id, facts["name"], state, message, facts["created"], facts["owner"], has_model, *data)

    def _written_state(self) -> tuple[str, str]:
        """State and message. If state.json is damaged, the state follows from the other files."""
        try:
            with reading("The state of this run", "Delete the run."):
                state = read_object(self.folder / "state.json")
                return STATES[STATES.index(state["state"])], str(state["message"])
        except UnreadableError:
            return (FINISHED if self.conclusion() else INTERRUPTED), ""

    def conclusion(self) -> RunResult | None:
        """The result, if it and the model exist, so that nothing is left to compute; else None."""
        try:
            return self.result() if self.model.is_dir() else None
        except UnreadableError:
            return None

    def set_state(self, state: str, message: str = "") -> None:
        write_object(self.folder / "state.json", {"state": state, "message": message})

    def rename(self, name: str) -> None:
        with writing("The run"):
            write_object(self.folder / "plan.json", self.facts | {"name": name[:NAME_LENGTH]})

    def save_result(self, result: RunResult) -> None:
        write_object(self.folder / "result.json", asdict(result))

    def result(self) -> RunResult | None:
        """What it came to, None before the end. Raises DamagedError if result.json is damaged."""
        path = self.folder / "result.json"
        if not path.exists():
            return None
        with reading("The result of this run", "Delete the run, or save its model first."):
            return from_json(RunResult, read_object(path))
