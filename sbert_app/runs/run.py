"""The folder of one training run. Each file is written in full or not at all.

plan.json  examples.parquet  events.jsonl  checkpoint.safetensors  best.safetensors  model/  result.json  state.json  lock
"""

import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from sbert_app.labelled.splits import Split, from_frame, to_frame
from sbert_app.runs.files import RunFiles
from sbert_app.runs.plan import Plan
from sbert_app.storage import UnreadableError, atomic_folder, check, checksum, read_object, reading, write_object, writing

if TYPE_CHECKING:
    pass

WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
DAMAGED = "damaged"  # its plan cannot be read: it can only be deleted
STATES = (WAITING, RUNNING, INTERRUPTED, FINISHED, STOPPED, FAILED)
EXAMPLES = "examples.parquet"
RESULT_PARTS = {"verdict", "before", "after", "parts", "best_step", "steps"}
NAME_LENGTH = 60


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

    def info(self) -> RunInfo:
        """The run's row in the list. A run whose state is running but whose lock is free was killed: interrupted."""
        try:
            facts, has_model = self.facts, (self.model / "config.json").is_file()
        except (UnreadableError, OSError) as error:
            return RunInfo(self.id, self.id, DAMAGED, str(error), self.id[:10], "", has_model=False)
        state, message = self._state()
        if state in (RUNNING, WAITING) and not self.locked():
            state, message = self._state()  # it may have ended between the two looks
            state = INTERRUPTED if state in (RUNNING, WAITING) else state
        data = str(facts.get("file", "")), facts["fingerprint"]
        return RunInfo(self.id, facts["name"], state, message, facts["created"], facts["owner"], has_model, *data)

    def _state(self) -> tuple[str, str]:
        """State and message. If state.json is damaged, the state follows from the other files."""
        try:
            with reading("The state of this run", "Delete the run."):
                state = read_object(self.folder / "state.json")
                return STATES[STATES.index(state["state"])], str(state["message"])
        except UnreadableError:
            return (FINISHED if self.conclusion() else INTERRUPTED), ""

    def conclusion(self) -> dict[str, Any] | None:
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

    def save_result(self, result: dict[str, Any]) -> None:
        write_object(self.folder / "result.json", result)

    def result(self) -> dict[str, Any] | None:
        """The content of result.json, None before the end. Raises DamagedError if it is damaged."""
        path = self.folder / "result.json"
        if not path.exists():
            return None
        with reading("The result of this run", "Delete the run, or save its model first."):
            result = read_object(path)
            if missing := RESULT_PARTS - result.keys():
                raise ValueError(f"result.json has no {', '.join(sorted(missing))}")
            return result
