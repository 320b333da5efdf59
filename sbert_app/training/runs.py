"""All runs of a data home: found, listed, swept, deleted."""

import shutil
import time
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.training.run import Run, RunInfo


class Runs:
    """All runs under one folder. `owner` "" sees every run (local mode); another owner only its own."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list(self, owner: str = "") -> list[RunInfo]:
        """Newest first. A folder that cannot be read is left out."""
        folders = [path for path in self._home.glob("*") if (path / "plan.json").exists() and not path.name.startswith(".")]
        infos = [Run(path).info() for path in folders]
        return sorted((i for i in infos if owner in ("", i.owner)), key=lambda info: (info.created, info.id), reverse=True)

    def get(self, run_id: str, owner: str = "") -> Run:
        """The run of this id. Raises UserError where there is none, or where it is another's."""
        run = Run(self._home / f"{run_id}")
        plain = bool(run_id) and run.folder.parent == self._home and not run_id.startswith(".")
        if not plain or not (run.folder / "plan.json").exists() or owner not in ("", run.facts["owner"]):
            raise UserError("There is no such run. It may have been deleted; choose another.")
        return run

    def sweep(self, hours: float) -> None:
        """Delete the runs that nobody has worked on for so long."""
        for info in self.list():
            folder = self._home / info.id
            if time.time() - (folder / "state.json").stat().st_mtime > hours * 3600 and not Run(folder).locked():
                shutil.rmtree(folder, ignore_errors=True)

    def delete(self, run_id: str) -> None:
        run = self.get(run_id)
        if run.locked():
            raise UserError("This run is being worked on. Stop it first, then delete it.")
        shutil.rmtree(run.folder)
