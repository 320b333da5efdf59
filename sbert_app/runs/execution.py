"""Execute a run: start or resume it, keep the best weights, evaluate before and after, write model and verdict."""

import logging
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch

from sbert_app.evaluation.verdict import judge
from sbert_app.labelled.example_set import Examples, remember, trained_on
from sbert_app.labelled.splits import Split
from sbert_app.models.engine.hardware import Hardware
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import FINISHED, STOPPED, Baseline, DevScore, Event, Kept, Loss, Parts, RunResult
from sbert_app.runs.result import against, card_facts, harm, head_accuracy, look
from sbert_app.runs.run import Run
from sbert_app.runs.sealed_files import BEST, CHECKPOINT
from sbert_app.runs.trials import Loader, Trials, Work
from sbert_app.step import each_within
from sbert_app.storage import DamagedError, atomic_folder, discard
from sbert_app.training.crossing import PairTrainee, check_fits, predictions
from sbert_app.training.objectives import Classification, save_head
from sbert_app.training.siamese import Siamese, finish
from sbert_app.training.trainee import BatchLoss, Evaluation
from sbert_app.training.trainer import Trainer
from sbert_app.vectors import Array
from sbert_app.watching import Private

log = logging.getLogger(__name__)

CHECKPOINT_SECONDS, EVALUATED_SECONDS = 15.0, 2.0  # between checkpoints: work lost if the process dies
BEST_STEP = "run/step"  # stored with the best weights: their step
EVENTS = 400  # points of the loss curve


@dataclass
class Clock:
    """Seconds spent computing events, without the time between them."""

    seconds: float = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start


class Execution:
    def __init__(self, run: Run, load: Loader, hardware: Hardware, stopping: Callable[[], bool] = lambda: False) -> None:
        self._run, self._load, self._hardware, self._stopping = run, load, hardware, stopping
        self._plan: Plan = run.plan
        self._trials = Trials(load, hardware, stopping)
        self._clock = Clock()
        self._examples_done = 0

    def work(self) -> Work[None]:
        """Train, evaluate and save. `stopping` ends the training early; the best weights so far are evaluated and saved."""
        conclusion = self._run.conclusion()
        if conclusion and not (conclusion.stopped and self._run.has_checkpoint):  # killed before it wrote the final state
            self._conclude(conclusion)
            return
        split = self._run.split()
        held_out = split.held_out
        model = self._load(self._plan.base)
        check_fits(model, self._plan.objective)
        yield None
        before = yield from look(model, held_out, self._hardware)
        cosines = yield from self._cosines(held_out)
        tried = yield from self._trials.objectives(self._run, split)
        self._plan = replace(self._plan, objective=self._plan.chosen(tried))
        trainee, trainer = self._trials.prepare(model, self._plan, split.train, split.dev)
        best_step = yield from self._train(trainer)
        if best_step is None:
            self._run.set_state(STOPPED, "Stopped before the first evaluation: there is no model. Resume continues.")
            return
        steps, stopped = trainer.steps, trainer.step < trainer.steps
        if stopped:
            yield self._run.add_event(Kept(best_step, trainer.best))
        del trainer  # and AdamW's moments, twice the weights: the learning curve trains another copy
        finish(trainee)
        after = yield from look(model, held_out, self._hardware)
        result = RunResult(
            verdict=judge(held_out.kind, before.predicted, after.predicted, held_out.gold),
            before=before.predicted.tolist(),
            after=after.predicted.tolist(),
            parts=Parts(len(split.train), len(split.dev), len(held_out)),
            split=split.separation,
            shared=split.shared,
            dev_before=next((event.score for event in self._run.events() if isinstance(event, Baseline)), None),
            best_step=best_step,
            steps=steps,
            curve=None if stopped else (yield from self._trials.learning_curve(self._run, self._plan, split, after.predicted)),
            head=head_accuracy(trainee.objective, after.columns, held_out),
            harm=harm(before, after),
            against=against(self._plan.encoder, held_out, cosines, after),
            seconds=self._clock.seconds,
            pairs_per_second=self._rate,
            device=str(self._hardware),
            stopped=stopped,
            tried=tried,
            objective=self._plan.objective,
            cut=trainee.cut,
        )
        self._save_model(trainee, split, result)
        self._run.save_result(result)
        self._conclude(result)

    def _conclude(self, result: RunResult) -> None:
        """Write the final state. If the process is killed before this, resuming the run does it. A stopped run may continue."""
        if not result.stopped:
            self._run.drop_checkpoints()
        state = STOPPED if result.stopped else FINISHED
        self._run.set_state(state, f"Best checkpoint: step {result.best_step:,} of {result.steps:,}.")

    def _train(self, trainer: Trainer) -> Work[int | None]:
        """Train, from the checkpoint if there is one. Returns the step of the best weights, which the model now has, or None."""
        self._resume(trainer)
        yield from self._measure_base(trainer)
        if self._stopping() and not trainer.step:
            return None  # objectives or the score before training may lack: resuming measures them
        events = trainer.run()
        try:
            yield from self._record(trainer, events)
        except GeneratorExit:  # paused: whoever resumes the run goes on right here
            events.close()
            self._run.save(CHECKPOINT, self._state(trainer))
            raise
        events.close()  # an evaluation that has begun gives the weights back
        self._run.save(CHECKPOINT, self._state(trainer))
        if (best := self._run.load(BEST)) is None:
            return None
        best_step = int(best.pop(BEST_STEP))
        trainer.load_weights(best)
        return best_step

    def _record(self, trainer: Trainer, events: Generator[BatchLoss | Evaluation | None]) -> Work[None]:
        """Train, recording losses, scores and best weights, with a checkpoint now and then, to the end or until `stopping`."""
        last_saved = self._clock.seconds
        losses: list[float] = []
        for event in each_within(self._clock.running, events):
            recorded: Event | None = None
            if isinstance(event, BatchLoss):
                losses.append(event.loss)
                self._examples_done += event.examples
                if event.step % -(-trainer.steps // EVENTS) == 0 or event.step == trainer.steps:
                    loss = float(np.mean(losses))
                    recorded = self._run.add_event(Loss(event.step, self._clock.seconds, self._rate, loss, trainer.steps))
                    losses.clear()
            elif isinstance(event, Evaluation):
                recorded = self._run.add_event(DevScore(event.step, self._clock.seconds, self._rate, event.score, event.best))
                if event.best:
                    self._run.save(BEST, trainer.weights() | {BEST_STEP: torch.tensor(event.step)})
            interval = EVALUATED_SECONDS if isinstance(event, Evaluation) else CHECKPOINT_SECONDS
            if self._clock.seconds - last_saved > interval and event:
                self._run.save(CHECKPOINT, self._state(trainer))
                last_saved = self._clock.seconds
            yield recorded
            if self._stopping():
                return

    def _measure_base(self, trainer: Trainer) -> Work[None]:
        """Add the dev score of the untrained weights as an event of step 0, unless the run has it or is past step 0."""
        if trainer.step or any(isinstance(event, Baseline) for event in self._run.events()):
            return
        for score in trainer.measure():
            yield None if score is None else self._run.add_event(Baseline(0, score))
            if self._stopping():
                return

    def _resume(self, trainer: Trainer) -> None:
        """Load the checkpoint. Start over without one, or if it or the best weights are damaged."""
        state = best = None
        try:
            state, best = self._run.load(CHECKPOINT), self._run.load(BEST)
        except DamagedError:
            log.warning("run %s starts over", Private(self._run.id))
        if state is None or (best is None and state["run/progress"][-1] > 0):
            self._run.drop_checkpoints()  # best weights without a checkpoint are useless
            self._run.forget_events_after(-1)
            return
        self._clock.seconds, done = state.pop("run/clock").tolist()
        self._examples_done = int(done)
        trainer.load(state)
        self._run.forget_events_after(trainer.step)

    def _state(self, trainer: Trainer) -> dict[str, torch.Tensor]:
        return trainer.state() | {"run/clock": torch.tensor([self._clock.seconds, self._examples_done], dtype=torch.float64)}

    @property
    def _rate(self) -> float:
        return self._examples_done / self._clock.seconds if self._clock.seconds else 0.0

    def _cosines(self, held_out: Examples) -> Work[Array | None]:
        """Those of the encoder that a cross-encoder is compared with, None for a trained encoder."""
        return (yield from predictions(self._load(self._plan.encoder), held_out, self._hardware))[1] if self._plan.encoder else None

    def _save_model(self, trainee: Siamese | PairTrainee, split: Split, result: RunResult) -> None:
        if self._run.model.exists():  # left by a killed process, or damaged: its weights may be others
            discard(self._run.model)
        with atomic_folder(self._run.model) as folder:
            trainee.encoder.save(folder, self._run.facts["name"], card_facts(self._plan, split, result))
            if isinstance(trainee.objective, Classification):
                save_head(folder, trainee.objective, split.train.labels)
            remember(folder, split.train, trained_on(trainee.encoder.folder))
