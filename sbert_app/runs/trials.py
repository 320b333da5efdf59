"""Trainings of other copies beside a run's own: to choose its objective, and to measure what more labels would bring."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

from sbert_app.evaluation.verdict import judge
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.splits import Split
from sbert_app.models.engine.hardware import Hardware
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import CurveBegun, Event, LearningCurve, Tried
from sbert_app.runs.run import Run
from sbert_app.training.crossing import PairTrainee, Trained, build_trainee, predictions
from sbert_app.training.siamese import Siamese, finish
from sbert_app.training.trainee import Evaluation
from sbert_app.training.trainer import Trainer
from sbert_app.vectors import Array

CURVE_SEED, TRIAL_SEED = 7, 8

Loader = Callable[[str], Trained]
Made = TypeVar("Made")
Work = Generator[Event | None, None, Made]  # yields what was recorded, or None, when other jobs may use the device


@dataclass(frozen=True)
class Trials:
    """load: a model of its own by the name of a base; stopping: whether the run was asked to stop."""

    load: Loader
    hardware: Hardware
    stopping: Callable[[], bool]

    def prepare(self, model: Trained, plan: Plan, train: Examples, dev: Examples) -> tuple[Siamese | PairTrainee, Trainer]:
        """A trainer of this model."""
        torch.manual_seed(plan.options.seed)  # for the head's initial weights
        trainee = build_trainee(model, plan.objective, plan.adjust, train, dev)
        return trainee, Trainer(trainee, plan.options, self.hardware)

    def objectives(self, run: Run, split: Split) -> Work[dict[str, float]]:
        """Train for a short time with each objective that the run's plan tries, and record their dev scores, which are returned."""
        tried = {event.objective: event.score for event in run.events() if isinstance(event, Tried)}
        for name in run.plan.tries:
            if name in tried or self.stopping():
                continue
            plan, read = run.plan.trial(name, len(split.train))
            rows = np.sort(np.random.default_rng(TRIAL_SEED).permutation(len(split.train))[:read])
            if trained := (yield from self._train(plan, split.train.take(rows), split.dev)):
                tried[name] = trained[1]
                yield run.add_event(Tried(name, tried[name]))
        return tried

    def learning_curve(self, run: Run, plan: Plan, split: Split, after: Array) -> Work[LearningCurve | None]:
        """Train on half: what does the other half add? None if stopped, or not planned. after: the run's predictions, (n,)."""
        if not plan.learning_curve:
            return None
        yield run.add_event(CurveBegun())
        count, held_out = len(split.train), split.held_out
        half = np.sort(np.random.default_rng(CURVE_SEED).permutation(count)[: count // 2])
        trained = yield from self._train(plan, split.train.take(half), split.dev)
        if trained is None:
            return None
        _, predicted = yield from predictions(trained[0], held_out, self.hardware)
        return LearningCurve(count // 2, count, judge(held_out.kind, predicted, after, held_out.gold).changes[0])

    def _train(self, plan: Plan, train: Examples, dev: Examples) -> Work[tuple[Trained, float] | None]:
        """Train a copy of the base. Returns it with its best weights, and its dev score; None if stopped or no example fits."""
        trainee, trainer = self.prepare(self.load(plan.base), plan, train, dev)
        best = trainer.weights()
        for event in trainer.run():
            if isinstance(event, Evaluation) and event.best:
                best = trainer.weights()
            yield None
            if self.stopping():
                return None
        trainer.load_weights(best)
        finish(trainee)
        return (trainee.encoder, trainer.best) if trainer.steps else None
