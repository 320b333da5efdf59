"""Fine-tune on labelled pairs: read them, plan, estimate, train in the background, judge, keep the model."""

import hashlib
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services import validation
from sbert_app.services.workbench import Workbench
from sbert_app.services.worker import Worker, carry_out
from sbert_app.storage import atomic_folder
from sbert_app.tables import Table, read_table
from sbert_app.training.columns import Mapping, guess_mapping
from sbert_app.training.examples import Examples, Reading, read_examples
from sbert_app.training.execution import Execution
from sbert_app.training.plan import Plan, preset
from sbert_app.training.probe import Estimate, estimate
from sbert_app.training.run import INTERRUPTED, RUNNING, WAITING, Run, RunInfo
from sbert_app.training.runs import Runs
from sbert_app.training.splits import Split, split

EXAMPLES = Path(__file__).resolve().parents[2] / "assets" / "labelled"
KEPT_HOURS = 24  # hosted: how long a visitor's run stays
OWNER_LENGTH = 16
MODEL_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,59}")


@dataclass(frozen=True)
class Offer:
    """A table read as examples and split: what the first step shows."""

    reading: Reading
    split: Split


@dataclass(frozen=True)
class Progress:
    """How a run stands, read from its folder."""

    info: RunInfo
    plan: Plan
    events: list[dict[str, Any]]
    result: dict[str, Any] | None

    @property
    def live(self) -> bool:
        return self.info.live


class FineTuneService:
    """Tables are in the visitor's session, runs on disk.

    `owner`: a secret of the visitor's browser, which decides what it sees in hosted mode. In local mode all runs are one person's.
    """

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits
        self.runs = Runs(workbench.settings.runs)
        self.worker = Worker(self.carry_out)

    @property
    def hosted(self) -> bool:
        return self._bench.settings.hosted

    @property
    def device(self) -> str:
        """Where training runs, such as "CPU, bf16"."""
        return str(self._bench.registry.hardware)

    # Step 1: data

    def read_file(self, path: Path, name: str = "") -> Table:
        return read_table(path, self._limits, name)

    def example(self, name: str) -> Table:
        """One of the example files written for this project."""
        names = sorted(path.name for path in EXAMPLES.glob("*.csv"))
        if name not in names:
            raise UserError(f"There is no example {name!r}. Choose one of {', '.join(names)}.")
        return read_table(EXAMPLES / name, self._limits)

    def offer(self, session_id: str, table: Table) -> Mapping:
        """Put a table before the visitor. Returns the guessed reading; raises UserError where there is none."""
        mapping = guess_mapping(table.frame)
        self._bench.sessions.get(session_id).labelled = table
        return mapping

    def table(self, session_id: str) -> Table:
        table = self._bench.sessions.get(session_id).labelled
        if table is None:
            raise UserError("There is nothing to train on yet. Upload labelled pairs, or pick an example.")
        return table

    def read(self, table: Table, mapping: Mapping, held_out: Table | None = None, dev: Table | None = None) -> Offer:
        """Read and split. Held-out and dev parts are cut off where no table is given for them."""
        reading = read_examples(table, mapping, self._limits)
        dev_part, held_part = (self._like(reading.examples, other, mapping) for other in (dev, held_out))
        return Offer(reading, split(reading.examples, dev_part, held_part))

    def _like(self, examples: Examples, table: Table | None, mapping: Mapping) -> Examples | None:
        """Another table's examples, on the scale and with the labels of the first."""
        if table is None:
            return None
        other = read_examples(table, mapping, self._limits).examples
        if other.labels != examples.labels:
            raise UserError(f"'{table.name}' has the labels {', '.join(other.labels)}, not {', '.join(examples.labels)}.")
        (low, high), (own_low, own_high) = examples.score_range, other.score_range
        raw = other.targets * (own_high - own_low) + own_low
        targets = (raw - low) / (high - low) if examples.kind == "scored" else other.targets
        return replace(other, targets=targets, positive=examples.positive, score_range=examples.score_range)

    # Step 2: settings

    def plan(self, name: str, offer: Offer, base: str = DEFAULT_ENCODER, **changes: Any) -> Plan:
        """A preset, with changes to its objective, options or adjustments. Raises UserError where they do not fit."""
        examples = offer.split.train
        plan = preset(name, examples.kind, len(examples), base)
        options = {key: value for key, value in changes.items() if hasattr(plan.options, key) and value is not None}
        adjust = {key: value for key, value in changes.items() if hasattr(plan.adjust, key) and value is not None}
        own = {key: changes[key] for key in ("objective", "learning_curve") if changes.get(key) is not None}
        for key in ("epochs", "batch_size", "seed"):
            if key in options:
                options[key] = validation.whole_number(options[key], key.replace("_", " "), 0, 2**31 - 1)
        try:
            plan = replace(plan, options=replace(plan.options, **options), adjust=replace(plan.adjust, **adjust), **own)
        except (ValueError, TypeError) as error:
            raise UserError(f"These settings do not work: {error}.") from error
        plan.check(examples.kind)
        return plan

    def estimate(self, offer: Offer, plan: Plan) -> Estimate:
        """Time a few batches on a throwaway copy."""
        steps = estimate(offer.split, plan, self._bench.registry.trainable, self._bench.registry.hardware)
        last: Estimate | None = None
        while last is None:
            with self._bench.device():
                last = next(steps)
        return last

    # Step 3: the run

    def start(self, offer: Offer, plan: Plan, owner: str = "", name: str = "") -> RunInfo:
        """Train in the background. Returns the run, whose id finds it again."""
        owner = self._owner(owner)
        if self.hosted:
            self.runs.sweep(KEPT_HOURS)
            if any(self.worker.busy(info.id) for info in self.runs.list(owner)):
                raise UserError("Your last run is still going on. Wait for it, or stop it.")
        run = self.create(offer, plan, owner, name)
        self.worker.start(run)
        return run.info()

    def create(self, offer: Offer, plan: Plan, owner: str = "", name: str = "") -> Run:
        """A run on disk that nothing works on yet."""
        title = name.strip() or Path(offer.reading.name).stem
        return Run.create(self._bench.settings.runs, title, owner, plan, offer.split)

    def resume(self, run_id: str, owner: str = "") -> RunInfo:
        """Go on with an interrupted or failed run from its last checkpoint."""
        run = self._run(run_id, owner)
        if run.info().state not in (INTERRUPTED, "failed"):
            raise UserError("Only an interrupted run can be resumed.")
        self.worker.start(run)
        return run.info()

    def stop(self, run_id: str, owner: str = "") -> None:
        """End a run early: its best checkpoint is kept and judged."""
        self.worker.stop(self._run(run_id, owner).id)

    def progress(self, run_id: str, owner: str = "") -> Progress:
        run = self._run(run_id, owner)
        info = run.info()
        if self.worker.busy(run_id) and info.state == INTERRUPTED:
            info = replace(info, state=WAITING)
        return Progress(info, run.plan, run.events(), run.result())

    def held_out(self, run_id: str, owner: str = "") -> Examples:
        """The examples that judge a run, in the order of its result."""
        return self._run(run_id, owner).split().held_out

    def list(self, owner: str = "") -> list[RunInfo]:
        infos = self.runs.list(self._owner(owner))
        return [replace(i, state=WAITING) if self.worker.busy(i.id) and i.state == INTERRUPTED else i for i in infos]

    def find(self, plan: Plan, offer: Offer) -> Run | None:
        """An interrupted run of the very same plan and examples: what a killed command goes on with."""
        for info in self.list():
            run = self.runs.get(info.id)
            if info.state == INTERRUPTED and run.plan == plan and run.facts["fingerprint"] == offer.split.fingerprint:
                return run
        return None

    def steps(self, run: Run) -> Iterator[dict[str, Any]]:
        """Work on a run in this thread; yields what is written of it. The caller holds its lock."""
        registry = self._bench.registry
        told = 0
        run.say(RUNNING)
        for _ in Execution(run, registry.trainable, registry.hardware).work():
            events = run.events()
            yield from events[told:]
            told = max(told, len(events))

    def carry_out(self, run: Run, stopping: Callable[[], bool]) -> None:
        """Work on a run in this thread, to its end. The caller holds its lock."""
        registry = self._bench.registry
        carry_out(Execution(run, registry.trainable, registry.hardware, stopping), self._bench.device)

    # Step 4: the model

    def save_model(self, run_id: str, name: str, owner: str = "") -> str:
        """Copy a run's model among the saved models. Returns the name that all tabs know it by."""
        run = self._with_model(run_id, owner)
        if self.hosted:
            raise UserError("A hosted app keeps no models under a name. Use it here, and download it as a zip.")
        name = validation.text(name, "model's name").strip()
        if not MODEL_NAME.fullmatch(name):
            raise UserError("A model's name has letters, digits, '.', '-' and '_', at most 60, and begins with a letter or digit.")
        target = self._bench.settings.models / name
        if target.exists() or name == DEFAULT_ENCODER:
            raise UserError(f"There is already a model named '{name}'. Choose another name.")
        with atomic_folder(target) as folder:
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
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # weights do not compress
            for file in sorted(run.model.rglob("*")):
                if file.is_file():
                    archive.write(file, Path(name) / file.relative_to(run.model))
        return path

    def rename(self, run_id: str, name: str, owner: str = "") -> None:
        name = validation.sentence(name, "run's name", self._limits, "Type one.")
        self._run(run_id, owner).rename(name)

    def delete(self, run_id: str, owner: str = "") -> None:
        run = self._run(run_id, owner)
        if self.worker.busy(run.id):
            raise UserError("This run is being worked on. Stop it first, then delete it.")
        self.runs.delete(run.id)

    def _owner(self, owner: str) -> str:
        if not self.hosted:
            return ""
        if not isinstance(owner, str) or len(owner) < OWNER_LENGTH:
            raise UserError(
                "Your browser keeps no data for this page, so no run can be kept for you. Allow it and reload the page."
            )
        return hashlib.sha256(owner.encode()).hexdigest()

    def _run(self, run_id: str, owner: str) -> Run:
        return self.runs.get(run_id, self._owner(owner))

    def _with_model(self, run_id: str, owner: str) -> Run:
        run = self._run(run_id, owner)
        if not run.info().has_model:
            raise UserError("This run has no model yet. Wait until it is finished, or stop it to keep the best so far.")
        return run
