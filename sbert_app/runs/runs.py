"""Find, list, expire and delete the runs of a data home."""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import Change
from sbert_app.runs.run import DAMAGED, NO_RUN, Run, RunInfo
from sbert_app.storage import discard, writing

RUN_ID = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{16}")


@dataclass(frozen=True)
class RunOverview:
    """A run with its verdict and size. word, change: "" and None before the end; base: "" if the run is damaged."""

    info: RunInfo
    base: str
    word: str
    examples: int  # held out
    change: Change | None
    nbytes: int


class Runs:
    """All runs under one folder. `owner` "" sees every run (local mode); other owners see only their own."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list(self, owner: str = "") -> list[RunInfo]:
        """The runs, newest first, damaged ones too; those have no known owner, so no visitor sees them in hosted mode."""
        infos = [Run(path).info() for path in self._home.glob("[!.]*") if _is_run(path)]
        return sorted((i for i in infos if owner in ("", i.owner)), key=lambda info: (info.created, info.id), reverse=True)

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
        for info in filter(lambda info: RUN_ID.fullmatch(info.id), self.list()):
            run = Run(self._home / info.id)
            with suppress(OSError, UserError):  # deleted meanwhile, or not deletable: must not prevent a new run
                state = run.folder / "state.json"
                worked = (state if os.path.lexists(state) else run.folder).lstat().st_mtime
                if time.time() - worked > hours * 3600 and not run.locked():
                    _delete(run)

    def delete(self, run_id: str) -> None:
        """Delete a run, damaged or not. Raises UserError if it is being trained or waits for its turn."""
        run = self.get(run_id)
        if run.locked():
            raise UserError("This run is being worked on. Stop it first, then delete it.")
        _delete(run)

    def overview(self, infos: Sequence[RunInfo]) -> Sequence[RunOverview]:
        """The lines of several runs, without those that were deleted meanwhile."""
        lines = []
        for info in infos:
            with suppress(UserError, OSError):
                lines.append(_overview(self.get(info.id), info))
        return lines


def _overview(run: Run, info: RunInfo) -> RunOverview:
    """What is damaged is left out."""
    size = sum(path.stat().st_size for path in run.folder.rglob("*") if path.is_file())
    if info.state == DAMAGED:
        return RunOverview(info, "", "", 0, None, size)
    base, result = run.plan.base, run.conclusion()
    if result is None:
        return RunOverview(info, base, "", 0, None, size)
    return RunOverview(info, base, result.verdict.word, result.verdict.examples, result.verdict.changes[0], size)


def _is_run(folder: Path) -> bool:
    return os.path.lexists(folder / "plan.json") or bool(RUN_ID.fullmatch(folder.name) and os.path.lexists(folder))


def _delete(run: Run) -> None:
    with writing("The folder of runs"):
        discard(run.folder)
