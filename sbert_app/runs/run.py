"""Training runs on disk, a folder each. Each file is written in full or not at all.

plan.json  examples.parquet  events.jsonl  checkpoint.safetensors  best.safetensors  model/  result.json  state.json  lock
"""

import os
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from sbert_app import storage
from sbert_app.errors import UserError
from sbert_app.labelled.example_set import Separation
from sbert_app.labelled.splits import Split, from_frame, to_frame
from sbert_app.runs import records
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import RunInfo, RunOverview, RunResult, RunState
from sbert_app.runs.sealed_files import RunFiles
from sbert_app.storage import UnreadableError, read_object, reading, write_object, writing

EXAMPLES = "examples.parquet"
RUN_ID = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{16}")
NO_RUN = "There is no such run. It may have been deleted; choose another."
NAME_LENGTH = 60


class Run(RunFiles):
    """Reads and writes a run. Several processes may read it; only the one that holds `lock` writes."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.id, self.model = folder.name, folder / "model"

    @classmethod
    def create(
        cls, home: Path, name: str, owner: str, plan: Plan, split: Split, file: str = "", named: Mapping[str, str] | None = None
    ) -> "Run":
        """Write a run, not started yet. Its random id is secret: hosted, it gives access to the run. file, named: in RunInfo."""
        run = cls(home / f"{time.strftime('%Y-%m-%d')}-{secrets.token_hex(8)}")
        facts = {
            "name": name[:NAME_LENGTH],
            "owner": owner,
            "created": time.strftime("%Y-%m-%d %H:%M:%S"),
            "plan": asdict(plan),
            **{name: getattr(split.train, name) for name in ("kind", "labels", "positive", "score_range")},
            **{name: getattr(split, name) for name in ("fingerprint", "leaks", "shared")},
            "split": asdict(split.separation),
            "file": file,
            "named": named,
        }
        with writing("The run"), storage.atomic_folder(run.folder) as folder:
            to_frame(split).to_parquet(folder / EXAMPLES, index=False)
            write_object(folder / "state.json", {"state": records.WAITING, "message": ""})
            write_object(folder / "plan.json", facts | {"files": {EXAMPLES: storage.checksum(folder / EXAMPLES)}})
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

    def split(self) -> Split:
        """The examples as split when the run was created. Raises DamagedError if they are damaged."""
        facts = self.facts
        with reading("The examples of this run", "Delete the run and start it again from your file."):
            storage.check(self.folder, facts.get("files", {}))
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
            return RunInfo(self.id, self.id, records.DAMAGED, str(error), self.id[:10], "", has_model=False)

    def _info(self, facts: dict[str, Any]) -> RunInfo:
        """A run whose state is running but whose lock is free was killed: interrupted."""
        state, message = self._written_state()
        if state in (records.RUNNING, records.WAITING) and not self.locked():
            state, message = self._written_state()  # it may have ended between the two looks
            state = records.INTERRUPTED if state in (records.RUNNING, records.WAITING) else state
        name, created, owner, fingerprint = (facts[key] for key in ("name", "created", "owner", "fingerprint"))
        file, named = str(facts.get("file", "")), facts.get("named", {})
        has_model = (self.model / "config.json").is_file()  # after the state: a run that has ended has had its model before
        return RunInfo(self.id, name, state, message, created, owner, has_model, file, fingerprint, self.has_checkpoint, named)

    def _written_state(self) -> tuple[str, str]:
        """State and message. If state.json is damaged, the state follows from the other files."""
        try:
            with reading("The state of this run", "Delete the run."):
                state = read_object(self.folder / "state.json")
                return records.STATES[records.STATES.index(state["state"])], str(state["message"])
        except UnreadableError:
            return (records.FINISHED if self.conclusion() else records.INTERRUPTED), ""

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
            return records.from_json(RunResult, read_object(path))


class Runs:
    """All runs under one folder. `owner` "" sees every run (local mode); other owners see only their own."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list(self, owner: str = "") -> list[RunInfo]:
        """The runs, newest first, damaged ones too; those have no known owner, so no visitor sees them in hosted mode."""
        paths = sorted(filter(_is_run, self._home.glob("[!.]*")), key=lambda path: path.lstat().st_mtime_ns, reverse=True)
        infos = [Run(path).info() for path in paths]  # of one second, the last written first
        return sorted((i for i in infos if owner in ("", i.owner)), key=lambda info: info.created, reverse=True)

    def get(self, run_id: str, owner: str = "") -> Run:
        """The run of this id. Raises UserError if there is none or it belongs to somebody else."""
        run = Run(self._home / f"{run_id}")
        valid = isinstance(run_id, str) and bool(run_id) and run.folder.parent == self._home and not run_id.startswith(".")
        if not valid or not _is_run(run.folder):
            raise UserError(NO_RUN)
        if owner:
            run.facts_for(owner)
        return run

    def sweep(self, hours: float) -> None:
        """Delete the runs that no process has worked on for this many hours."""
        for run in (Run(path) for path in filter(_is_run, self._home.glob("[!.]*")) if RUN_ID.fullmatch(path.name)):
            with suppress(OSError, UserError):  # deleted meanwhile, or not deletable: must not prevent a new run
                state = run.folder / "state.json"
                worked = (state if os.path.lexists(state) else run.folder).lstat().st_mtime
                if time.time() - worked > hours * 3600:
                    self.delete(run.id)

    def delete(self, run_id: str) -> None:
        """Delete a run, damaged or not. Raises UserError if it is being trained or waits for its turn."""
        run = self.get(run_id)
        if run.locked():
            raise UserError("This run is being worked on. Stop it first, then delete it.")
        with writing("The folder of runs"):
            storage.discard(run.folder)

    def overview(self, infos: Sequence[RunInfo]) -> Sequence[RunOverview]:
        """The lines of several runs, without those that were deleted meanwhile. What is damaged is left out."""
        lines = []
        for info in infos:
            with suppress(UserError, OSError):
                run, damaged = self.get(info.id), info.state == records.DAMAGED
                result = None if damaged else run.conclusion()
                size = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file())
                plan, verdict = None if damaged else run.plan, result.verdict if result else None
                lines.append(RunOverview(info, plan, result.objective if result else "", verdict, size))
        return lines


def _is_run(folder: Path) -> bool:
    return os.path.lexists(folder / "plan.json") or bool(RUN_ID.fullmatch(folder.name) and os.path.lexists(folder))
