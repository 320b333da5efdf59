"""Save trained models under a name, or pack them as a zip."""

import os
import re
import shutil
import zipfile
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runs.run import Run
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.storage import atomic_folder, writing

MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)


class TrainedModels:
    """Models of finished and stopped runs."""

    def __init__(self, workbench: Workbench, trainings: FineTuneService) -> None:
        self._bench, self._trainings = workbench, trainings

    def save_model(self, run_id: str, name: str, owner: str = "") -> str:
        """Copy a run's model to the saved models and return its name there."""
        run = self._with_model(run_id, owner)
        if self._trainings.hosted:
            raise UserError("A hosted app saves no models. Download the model instead.")
        name = validation.line(name, "model's name")
        if not MODEL_NAME.fullmatch(name):
            raise UserError("A model's name has at most 60 letters, digits, '.', '-' or '_', and starts with a letter or digit.")
        target = self._bench.settings.models / name
        if os.path.lexists(target) or name == DEFAULT_ENCODER:
            raise UserError(f"There is already a model named '{name}'. Choose another name.")
        with writing("The model"), atomic_folder(target) as folder:
            shutil.copytree(run.model, folder, dirs_exist_ok=True)
        return name

    def free_name(self, preferred: str) -> str:
        """An unused model name close to the preferred one."""
        base = re.sub(r"[^\w.-]+", "-", preferred, flags=re.ASCII).strip("-._")[:50] or "model"
        used = {info.name for info in self._bench.registry.list()}
        names = (base, *(f"{base}-{i}" for i in range(2, len(used) + 3)))
        return next(name for name in names if name not in used)

    def zip_model(self, run_id: str, folder: Path, owner: str = "") -> Path:
        """Pack a run's model as a zip in `folder`, a folder that loads in sentence-transformers if the model is a transformer."""
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
            raise UserError("This run has no model yet. Wait until it finishes, or stop it to keep the best checkpoint.")
        return run
