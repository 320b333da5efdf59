"""Fine-tune on labelled pairs: plan, estimate the duration, train in the background, evaluate, keep the model."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.labelled.examples import Examples
from sbert_app.labelled.groups import Separation
from sbert_app.labelled.training_data import TrainingData
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runs.plan import Plan, TrainingEstimate, estimate, preset
from sbert_app.runs.run import DAMAGED, FAILED, INTERRUPTED, RUNNING, WAITING, Run, RunInfo
from sbert_app.runs.runs import RunOverview, Runs, overviews
from sbert_app.runtime.workbench import Workbench
from sbert_app.runtime.worker import Worker, run_execution
from sbert_app.services import validation
from sbert_app.services.labelled import LabelledData
from sbert_app.storage import writing
from sbert_app.training.options import RANGES

BUSY = "Your last run is still training. Wait for it, or stop it."
KEPT_HOURS = 24  # hosted mode: runs are deleted after this time
OWNER_LENGTH = 16


@dataclass(frozen=True)
class RunProgress:
    """State, plan, events and result of a run, read from its folder. shared: held-out sentences that occur in training."""

    info: RunInfo
    plan: Plan
    events: list[dict[str, Any]]
    result: dict[str, Any] | None
    kind: str  # of the examples
    separation: Separation
    shared: int
    stopping: bool  # asked to, not ended

    @property
    def live(self) -> bool:
        return self.info.live


class FineTuneService:
    """Labelled tables are in the visitor's session, runs on disk. `owner`: in hosted mode the browser's secret; locally ignored."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits
        self.labelled = LabelledData(workbench)
        self.runs = Runs(workbench.settings.runs)
        self.worker = Worker(self.train)

    @property
    def hosted(self) -> bool:
        return self._bench.settings.hosted

    @property
    def device(self) -> str:
        """The training hardware, such as "CPU, bf16"."""
        return str(self._bench.registry.hardware)

    # Settings

    def plan(self, name: str, data: TrainingData, base: str = DEFAULT_ENCODER, **changes: Any) -> Plan:
        """A preset with changes to its objective, options or adjustments. Raises UserError for changes that do not fit."""
        examples = data.split.train
        plan = preset(name, examples.kind, len(examples), base)
        options = {key: value for key, value in changes.items() if hasattr(plan.options, key) and value is not None}
        adjust = {key: value for key, value in changes.items() if hasattr(plan.adjust, key) and value is not None}
        fields = {key: changes[key] for key in ("objective", "learning_curve") if changes.get(key) is not None}
        for key in RANGES.keys() & options.keys():
            check = validation.number if key == "learning_rate" else validation.whole_number
            options[key] = check(options[key], key.replace("_", " "), *RANGES[key])
        try:
            plan = replace(plan, options=replace(plan.options, **options), adjust=replace(plan.adjust, **adjust), **fields)
        except (ValueError, TypeError) as error:
            raise UserError(f"These settings do not work: {error}.") from error
        plan.check(examples.kind)
        return plan

    def estimate(self, data: TrainingData, plan: Plan) -> TrainingEstimate:
        """Estimate the training time by timing a few batches on a copy of the model."""
        steps = estimate(data.split, plan, self._bench.registry.trainable, self._bench.registry.hardware)
        last: TrainingEstimate | None = None
        while last is None:
            with self._bench.device.hold():
                last = next(steps)
        return last

    # The run

    def start(self, data: TrainingData, plan: Plan, owner: str = "", name: str = "") -> RunInfo:
        """Start training in the background and return the new run."""
        owner = self._owner(owner)
        if self.hosted:
            self.runs.sweep(KEPT_HOURS)
            if any(self.worker.busy(info.id) for info in self.runs.list(owner)):
                raise UserError(BUSY)
        self._check_size(data, plan)
        run = self.create(data, plan, owner, name)
        self.worker.start(run)
        return run.info()

    def _check_size(self, data: TrainingData, plan: Plan) -> None:
        limit, planned = self._limits.trained_examples, len(data.split.train) * plan.options.epochs
        if planned > limit:
            raise UserError(f"{planned:,} examples times epochs are too many here, the limit is {limit:,}. Choose fewer epochs.")
        if self.worker.count() >= self._limits.waiting_runs:
            raise UserError("Too many runs are waiting for their turn. Try again in a few minutes.")

    def create(self, data: TrainingData, plan: Plan, owner: str = "", name: str = "") -> Run:
        """Create a run on disk without starting it."""
        title = validation.line(name, "run's name") or Path(data.reading.name).stem
        return Run.create(self._bench.settings.runs, title, owner, plan, data.split, data.reading.name)

    def resume(self, run_id: str, owner: str = "") -> RunInfo:
        """Resume an interrupted or failed run from its last checkpoint."""
        run = self.run(run_id, owner)
        info = run.info()
        if info.state not in (INTERRUPTED, FAILED):
            raise UserError(info.message if info.state == DAMAGED else "Only an interrupted run can be resumed.")
        self.worker.start(run)
        return run.info()

    def stop(self, run_id: str, owner: str = "") -> None:
        """Stop a run early; its best checkpoint is kept and evaluated."""
        self.worker.stop(self.run(run_id, owner).id)

    def progress(self, run_id: str, owner: str = "") -> RunProgress:
        run = self.run(run_id, owner)
        info, facts = self._with_worker_state(run.info()), run.facts
        how = Separation(**facts.get("split", {}))
        shared, stopping = int(facts.get("shared", 0)), self.worker.stopping(run_id)
        return RunProgress(info, run.plan, run.events(), run.result(), facts["kind"], how, shared, stopping)

    def info(self, run_id: str, owner: str = "") -> RunInfo:
        """The run's row in the list."""
        return self._with_worker_state(self.run(run_id, owner).info())

    def held_out(self, run_id: str, owner: str = "") -> Examples:
        """The held-out examples of a run, in the order of its result."""
        return self.run(run_id, owner).split().held_out

    def list(self, owner: str = "") -> list[RunInfo]:
        return [self._with_worker_state(info) for info in self.runs.list(self._owner(owner))]

    def overview(self, owner: str = "") -> Sequence[RunOverview]:
        """The runs of this owner with verdict, scores and size, newest first."""
        return overviews(self.runs.get, self.list(owner))

    def active_run(self, owner: str = "") -> RunInfo | None:
        """The oldest run that is waiting or training, if any."""
        return next((info for info in reversed(self.list(owner)) if info.live), None)

    def _with_worker_state(self, info: RunInfo) -> RunInfo:
        """Update a run's state from the worker, which may still hold the run or have failed to write its state to a full disk."""
        unwritten = self.worker.unwritten(info.id)
        if unwritten:
            return replace(info, state=unwritten[0], message=unwritten[1])
        if not self.worker.busy(info.id):
            return info
        return replace(info, state=WAITING if info.state == WAITING else RUNNING)

    def interrupted_run(self, plan: Plan, data: TrainingData) -> Run | None:
        """Find an interrupted run with the same plan and examples, which a repeated command resumes."""
        for info in self.list():
            if info.state != INTERRUPTED:
                continue
            run = self.runs.get(info.id)
            if run.plan == plan and run.facts["fingerprint"] == data.split.fingerprint:
                return run
        return None

    def steps(self, run: Run) -> Iterator[dict[str, Any]]:
        """Train a run in this thread and yield its new events. The caller holds the run's lock."""
        from sbert_app.runs.execution import Execution

        registry = self._bench.registry
        sent = 0
        with writing("The run"):
            run.set_state(RUNNING)
            for _ in Execution(run, registry.trainable, registry.hardware).work():
                events = run.events()
                yield from events[sent:]
                sent = max(sent, len(events))

    def train(self, run: Run, stopping: Callable[[], bool]) -> None:
        """Train a run in this thread to its end. The caller holds the run's lock."""
        from sbert_app.runs.execution import Execution

        registry = self._bench.registry
        run_execution(Execution(run, registry.trainable, registry.hardware, stopping), self._bench.device.hold)

    # Earlier runs

    def rename(self, run_id: str, name: str, owner: str = "") -> None:
        name = validation.sentence(validation.line(name, "run's name"), "run's name", self._limits, "Type a name.")
        self.run(run_id, owner).rename(name)

    def delete(self, run_id: str, owner: str = "") -> None:
        run = self.run(run_id, owner)
        if self.worker.busy(run.id):
            raise UserError("This run is still training. Stop it first, then delete it.")
        self.runs.delete(run.id)

    def _owner(self, owner: str) -> str:
        if not self.hosted:
            return ""
        if not isinstance(owner, str) or len(owner) < OWNER_LENGTH:
            raise UserError("Your browser stores no data for this page, so runs cannot be kept. Allow it and reload the page.")
        return hashlib.sha256(owner.encode()).hexdigest()

    def run(self, run_id: str, owner: str = "") -> Run:
        """The run with this id. Raises UserError if there is none or it belongs to another visitor."""
        return self.runs.get(run_id, self._owner(owner))
