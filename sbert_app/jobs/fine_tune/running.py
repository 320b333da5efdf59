"""A visitor's runs: start, stop, resume, look at, rename, delete, keep the model. owner: in hosted mode the browser's secret."""

import hashlib
import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.fine_tune.preparing import TrainingData, naming
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import DAMAGED, FINISHED, INTERRUPTED, RUNNING, STOPPED, Event, RunInfo, RunState
from sbert_app.runs.run import Run
from sbert_app.runtime.quota_usage import TRAINING
from sbert_app.runtime.workbench import Workbench
from sbert_app.storage import atomic_folder, writing

OWNER_LENGTH = 16
MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}", re.ASCII)


def start(bench: Workbench, data: TrainingData, plan: Plan, owner: str = "", alone: bool = False) -> RunInfo:
    """Start training in the background. alone: refuse it while another run of this owner is live, as a hosted app always does."""
    limits, planned = bench.settings.limits, len(data.split.train) * plan.options.epochs
    _check_room(bench, owner, alone)
    if planned > limits.trained_examples:
        most = f"{limits.trained_examples:,}"
        raise UserError(f"{planned:,} examples times epochs are too many here, the limit is {most}. Choose fewer epochs.")
    run = create(bench, data, plan, owner)
    bench.worker.start(run)
    return run.info()


def _check_room(bench: Workbench, owner: str, alone: bool = False) -> None:
    """Raise UserError where a further run of this owner has no place."""
    if (alone or bench.settings.hosted) and active_run(bench, owner):
        raise UserError("Your last run is still training. Wait for it, or stop it.")
    if bench.worker.count() >= bench.settings.limits.waiting_runs:
        raise UserError("Too many runs are waiting for their turn. Try again in a few minutes.")
    bench.usage.check(TRAINING)


def create(bench: Workbench, data: TrainingData, plan: Plan, owner: str = "", name: str = "") -> Run:
    """Create a run on disk without starting it."""
    title = validation.line(name, "run's name") or Path(data.reading.name).stem
    named = naming(data.table, data.mapping)
    return Run.create(bench.settings.runs, title, _owner(bench, owner), plan, data.split, data.reading.name, named)


def train_here(bench: Workbench, run: Run) -> Iterator[Event]:
    """Train a run in this thread and yield what it records. The caller holds the run's lock."""
    from sbert_app.runs.execution import Execution

    with writing("The run"):
        run.set_state(RUNNING)
        yield from filter(None, Execution(run, bench.registry.trainable, bench.registry.hardware).work())


def resume(bench: Workbench, run_id: str, owner: str = "") -> RunInfo:
    """Resume an interrupted, stopped or failed run from its last checkpoint."""
    run = find(bench, run_id, owner)
    if reason := why_no_resume(run.info()):
        raise UserError(reason)
    _check_room(bench, owner)
    bench.worker.start(run)
    return run.info()


def why_no_resume(info: RunInfo) -> str:
    """Why a run's training cannot continue, "" if it can."""
    if info.state == STOPPED and info.has_model and not info.has_checkpoint:
        return "An older version stopped it, without a checkpoint to resume from. Use its model and train that."
    reasons = {FINISHED: "It is finished: there is nothing to resume.", DAMAGED: info.message}
    return "It is still at work: there is nothing to resume." if info.live else reasons.get(info.state, "")


def stop(bench: Workbench, run_id: str, owner: str = "") -> None:
    """Stop a run early; its best checkpoint is kept and evaluated. Raises UserError for a run of another process."""
    info = row(bench, run_id, owner)
    if info.live and not bench.worker.busy(info.id):
        raise UserError("Another process trains this run, such as a command in a shell: stop it there, with Ctrl+C.")
    bench.worker.stop(info.id)


def find(bench: Workbench, run_id: str, owner: str = "") -> Run:
    """The run with this id. Raises UserError if there is none or it belongs to another visitor."""
    return bench.runs.get(run_id, _owner(bench, owner))


def state(bench: Workbench, run_id: str, owner: str = "") -> RunState:
    """All that there is to show of a run. Raises UserError as `find`, and if it is damaged."""
    owner = _owner(bench, owner)
    read = bench.runs.get(run_id).state(owner)
    return replace(read, info=bench.worker.updated(read.info), stopping=bench.worker.stopping(run_id))


def row(bench: Workbench, run_id: str, owner: str = "") -> RunInfo:
    """The run's row in the list."""
    return bench.worker.updated(find(bench, run_id, owner).info())


def rows(bench: Workbench, owner: str = "") -> Sequence[RunInfo]:
    """The runs of this owner, newest first."""
    return [bench.worker.updated(info) for info in bench.runs.list(_owner(bench, owner))]


def active_run(bench: Workbench, owner: str = "") -> RunInfo | None:
    """The oldest run that is waiting or training, if any."""
    return next((info for info in reversed(rows(bench, owner)) if info.live), None)


def interrupted_run(bench: Workbench, plan: Plan, data: TrainingData) -> Run | None:
    """Find an interrupted run with the same plan and examples, which a repeated command resumes."""
    same_data = (i for i in rows(bench) if i.state == INTERRUPTED and i.fingerprint == data.split.fingerprint)
    return next((run for info in same_data if (run := bench.runs.get(info.id)).plan == plan), None)


def rename(bench: Workbench, run_id: str, name: str, owner: str = "") -> None:
    name = validation.sentence(validation.line(name, "run's name"), "run's name", bench.settings.limits, "Type a name.")
    find(bench, run_id, owner).rename(name)


def delete(bench: Workbench, run_id: str, owner: str = "") -> None:
    run = find(bench, run_id, owner)
    if bench.worker.busy(run.id):
        raise UserError("This run is still training. Stop it first, then delete it.")
    bench.runs.delete(run.id)


def _owner(bench: Workbench, owner: str) -> str:
    """The owner as runs name it: in hosted mode, a hash of the secret."""
    if not bench.settings.hosted:
        return ""
    if not isinstance(owner, str) or len(owner) < OWNER_LENGTH:
        raise UserError(
            "Runs are kept under a secret of your browser, which stores no data for this page. Allow it and reload the page. "
            f"From a program, send a secret of at least {OWNER_LENGTH} letters as owner."
        )
    return hashlib.sha256(owner.encode()).hexdigest()


def save_model(bench: Workbench, run_id: str, name: str, owner: str = "") -> str:
    """Copy a run's model to the saved models and return its name there."""
    run = _with_model(bench, run_id, owner)
    if bench.settings.hosted:
        raise UserError("A hosted app saves no models. Download the model instead.")
    name = validation.line(name, "model's name")
    if not MODEL_NAME.fullmatch(name):
        raise UserError("A model's name has at most 60 letters, digits, '.', '-' or '_', and starts with a letter or digit.")
    target = bench.settings.models / name
    if os.path.lexists(target) or name == DEFAULT_ENCODER:
        raise UserError(f"There is already a model named '{name}'. Choose another name.")
    with writing("The model"), atomic_folder(target) as folder:
        shutil.copytree(run.model, folder, dirs_exist_ok=True)
    return name


def free_name(bench: Workbench, preferred: str) -> str:
    """An unused model name close to the preferred one."""
    base = re.sub(r"[^\w.-]+", "-", preferred, flags=re.ASCII).strip("-._")[:50] or "model"
    used = {info.name for info in bench.registry.list()}
    return next(name for name in (base, *(f"{base}-{i}" for i in range(2, len(used) + 3))) if name not in used)


def zip_model(bench: Workbench, run_id: str, folder: Path, owner: str = "") -> Path:
    """Pack a run's model as a zip in `folder`, a folder that loads in sentence-transformers if the model is a transformer."""
    run = _with_model(bench, run_id, owner)
    name = re.sub(r"[^\w.-]+", "-", run.info().name).strip("-.") or "model"
    path = folder / f"{name}.zip"
    with writing("The zip"), zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # weights do not compress
        for file in sorted(filter(Path.is_file, run.model.rglob("*"))):
            archive.write(file, Path(name) / file.relative_to(run.model))
    return path


def _with_model(bench: Workbench, run_id: str, owner: str) -> Run:
    if not (run := find(bench, run_id, owner)).info().has_model:
        raise UserError("This run has no model yet. Wait until it finishes, or stop it to keep the best checkpoint.")
    return run
