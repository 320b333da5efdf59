"""Fine-tune on labelled pairs: read them, plan, estimate, train in the background, judge, keep the model."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.labelled.examples import Examples
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runs.execution import Execution
from sbert_app.runs.plan import Plan, preset
from sbert_app.runs.probe import Estimate, estimate
from sbert_app.runs.run import DAMAGED, FAILED, INTERRUPTED, RUNNING, WAITING, Run, RunInfo
from sbert_app.runs.runs import Runs
from sbert_app.runtime.workbench import Workbench
from sbert_app.runtime.worker import Worker, carry_out
from sbert_app.services import validation
from sbert_app.services.labelled import LabelledData, Offer
from sbert_app.storage import writing

BUSY = "Your last run is still going on. Wait for it, or stop it."
KEPT_HOURS = 24  # hosted: how long a visitor's run stays
OWNER_LENGTH = 16


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
        self.data = LabelledData(workbench)
        self.runs = Runs(workbench.settings.runs)
        self.worker = Worker(self.carry_out)

    @property
    def hosted(self) -> bool:
        return self._bench.settings.hosted

    @property
    def device(self) -> str:
        """Where training runs, such as "CPU, bf16"."""
        return str(self._bench.registry.hardware)

    # Settings

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
            with self._bench.device.hold():
                last = next(steps)
        return last

    # The run

    def start(self, offer: Offer, plan: Plan, owner: str = "", name: str = "") -> RunInfo:
        """Train in the background. Returns the run, whose id finds it again."""
        owner = self._owner(owner)
        if self.hosted:
            self.runs.sweep(KEPT_HOURS)
            if any(self.worker.busy(info.id) for info in self.runs.list(owner)):
                raise UserError(BUSY)
        self._check_size(offer, plan)
        run = self.create(offer, plan, owner, name)
        self.worker.start(run)
        return run.info()

    def _check_size(self, offer: Offer, plan: Plan) -> None:
        most, asked = self._limits.trained_examples, len(offer.split.train) * plan.options.epochs
        if asked > most:
            raise UserError(f"{asked:,} examples times epochs are too many here, the limit is {most:,}. Choose fewer epochs.")
        if self.worker.count() >= self._limits.waiting_runs:
            raise UserError("Too many runs are waiting for their turn. Try again in a few minutes.")

    def create(self, offer: Offer, plan: Plan, owner: str = "", name: str = "") -> Run:
        """A run on disk that nothing works on yet."""
        title = validation.line(name, "run's name") or Path(offer.reading.name).stem
        return Run.create(self._bench.settings.runs, title, owner, plan, offer.split)

    def resume(self, run_id: str, owner: str = "") -> RunInfo:
        """Go on with an interrupted or failed run from its last checkpoint."""
        run = self.run(run_id, owner)
        info = run.info()
        if info.state not in (INTERRUPTED, FAILED):
            raise UserError(info.message if info.state == DAMAGED else "Only an interrupted run can be resumed.")
        self.worker.start(run)
        return run.info()

    def stop(self, run_id: str, owner: str = "") -> None:
        """End a run early: its best checkpoint is kept and judged."""
        self.worker.stop(self.run(run_id, owner).id)

    def progress(self, run_id: str, owner: str = "") -> Progress:
        run = self.run(run_id, owner)
        return Progress(self._seen(run.info()), run.plan, run.events(), run.result())

    def held_out(self, run_id: str, owner: str = "") -> Examples:
        """The examples that judge a run, in the order of its result."""
        return self.run(run_id, owner).split().held_out

    def list(self, owner: str = "") -> list[RunInfo]:
        infos = self.runs.list(self._owner(owner))
        return [self._seen(info) for info in infos]

    def going_on(self, owner: str = "") -> RunInfo | None:
        """The run that is waiting or training, the oldest of several."""
        live = [info for info in self.list(owner) if info.live]
        return live[-1] if live else None

    def _seen(self, info: RunInfo) -> RunInfo:
        """The worker knows more than the folder: a run is busy until it is let go, and a full disk takes no last word."""
        unwritten = self.worker.unwritten(info.id)
        if unwritten:
            return replace(info, state=unwritten[0], message=unwritten[1])
        if not self.worker.busy(info.id):
            return info
        return replace(info, state=WAITING if info.state == WAITING else RUNNING)

    def find(self, plan: Plan, offer: Offer) -> Run | None:
        """An interrupted run of the very same plan and examples: what a killed command goes on with."""
        for info in self.list():
            if info.state != INTERRUPTED:
                continue
            run = self.runs.get(info.id)
            if run.plan == plan and run.facts["fingerprint"] == offer.split.fingerprint:
                return run
        return None

    def steps(self, run: Run) -> Iterator[dict[str, Any]]:
        """Work on a run in this thread; yields what is written of it. The caller holds its lock."""
        registry = self._bench.registry
        told = 0
        with writing("The run"):
            run.say(RUNNING)
            for _ in Execution(run, registry.trainable, registry.hardware).work():
                events = run.events()
                yield from events[told:]
                told = max(told, len(events))

    def carry_out(self, run: Run, stopping: Callable[[], bool]) -> None:
        """Work on a run in this thread, to its end. The caller holds its lock."""
        registry = self._bench.registry
        carry_out(Execution(run, registry.trainable, registry.hardware, stopping), self._bench.device.hold)

    # Earlier runs

    def rename(self, run_id: str, name: str, owner: str = "") -> None:
        name = validation.sentence(validation.line(name, "run's name"), "run's name", self._limits, "Type one.")
        self.run(run_id, owner).rename(name)

    def delete(self, run_id: str, owner: str = "") -> None:
        run = self.run(run_id, owner)
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

    def run(self, run_id: str, owner: str = "") -> Run:
        """The run of this id. Raises UserError where there is none, or where it is another visitor's."""
        return self.runs.get(run_id, self._owner(owner))
