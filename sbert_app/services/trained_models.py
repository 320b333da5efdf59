"""What becomes of a trained model: saved under a name for all tabs, or packed to take away."""

import os
import re
import shutil
import zipfile
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runs.run import Run
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.storage import atomic_folder, writing

MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)


class TrainedModels:
    """The models of finished and of stopped runs."""

    def __init__(self, workbench: Workbench, trainings: FineTuneService) -> None:
        self._bench, self._trainings = workbench, trainings

    def save_model(self, run_id: str, name: str, owner: str = "") -> str:
        """Copy a run's model among the saved models. Returns the name that all tabs know it by."""
        run = self._with_model(run_id, owner)
        if self._trainings.hosted:
            raise UserError("A hosted app keeps no models under a name. Use it here, and download it as a zip.")
        name = validation.line(name, "model's name")
        if not MODEL_NAME.fullmatch(name):
            raise UserError("A model's name has letters, digits, '.', '-' and '_', at most 60, and begins with a letter or digit.")
        target = self._bench.settings.models / name
        if os.path.lexists(target) or name == DEFAULT_ENCODER:
            raise UserError(f"There is already a model named '{name}'. Choose another name.")
        with writing("The model"), atomic_folder(target) as folder:
            shutil.copytree(run.model, folder, dirs_exist_ok=True)
        return name

    def free_name(self, wish: str) -> str:
        """A name under which no model is saved yet, close to the one wished for."""
        base = re.sub(r"[^\w.-]+", "-", wish, flags=re.ASCII).strip("-._")[:50] or "model"
        taken = {info.name for info in self._bench.registry.list()}
        names = (base, *(f"{base}-{i}" for i in range(2, len(taken) + 3)))
        return next(name for name in names if name not in taken)

    def zip_model(self, run_id: str, folder: Path, owner: str = "") -> Path:
        """Pack a run's model into a zip in `folder`; sentence-transformers loads what is inside."""
        run = self._with_model(run_id, owner)
        name = re.sub(r"[^\w.-]+", "-", run.info().name).strip("-.") or "model"
        path = folder / f"{name}.zip"
        with writing("The zip"), zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # weights do not compress
            for file in sorted(run.model.rglob("*")):
                if file.is_file():
                    archive.write(file, Path(name) / file.relative_to(run.model))
        return path

    def _with_model(self, run_id: str, owner: str) -> Run:
        run = self._trainings.run(run_id, owner)
        if not run.info().has_model:
            raise UserError("This run has no model yet. Wait until it is finished, or stop it to keep the best so far.")
        return run
