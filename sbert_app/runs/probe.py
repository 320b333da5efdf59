"""Estimate the time of a run: train a throwaway copy for a few batches and time it."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.labelled.splits import Split
from sbert_app.runs.plan import Plan

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.engine.hardware import Hardware
    from sbert_app.training.trainer import Trainer

WARM_UP_BATCHES, TIMED_BATCHES = 1, 4
TRAIN_SAMPLE, DEV_SAMPLE = 1_024, 64


@dataclass(frozen=True)
class TrainingEstimate:
    """Expected seconds of a run, extrapolated from a few batches timed on this machine at its current load."""

    pairs_per_second: float
    training: float
    evaluations: float
    learning_curve: float
    batches: int

    @property
    def seconds(self) -> float:
        return self.training + self.evaluations + self.learning_curve


def estimate(split: Split, plan: Plan, load: "Callable[[str], Encoder]", hardware: "Hardware") -> Iterator[TrainingEstimate | None]:
    """Yield None after each batch, then the estimate. The trained copy is discarded."""
    from sbert_app.training.siamese import build_siamese
    from sbert_app.training.trainee import Step
    from sbert_app.training.trainer import Trainer

    generator = np.random.default_rng(0)
    train, dev = (
        part.take(generator.permutation(len(part))[:most]) for part, most in ((split.train, TRAIN_SAMPLE), (split.dev, DEV_SAMPLE))
    )
    encoder = load(plan.base)
    siamese = build_siamese(encoder, plan.objective, plan.adjust, train, dev)
    trainer = Trainer(siamese, plan.options, hardware)
    yield None
    start, seconds, examples, batches = time.perf_counter(), 0.0, 0, 0
    for event in islice((e for e in trainer.run() if isinstance(e, Step)), WARM_UP_BATCHES + TIMED_BATCHES):
        if event.step > min(WARM_UP_BATCHES, trainer.steps - 1):  # a run of one batch is timed without a warm-up
            seconds += time.perf_counter() - start
            examples, batches = examples + event.examples, batches + 1
        yield None
        start = time.perf_counter()
    start = time.perf_counter()
    for score in siamese.evaluate():
        if score is None:
            yield None
    dev_seconds = (time.perf_counter() - start) / max(1, len(dev))
    yield _extrapolate(split, plan, trainer, examples / seconds, dev_seconds, batches)


def _extrapolate(split: Split, plan: Plan, trainer: "Trainer", rate: float, dev_seconds: float, batches: int) -> TrainingEstimate:
    training = len(split.train) * plan.options.epochs / rate
    evaluations = dev_seconds * ((trainer.evaluations + 1) * len(split.dev) + 2 * len(split.held_out))
    curve = (training + evaluations) / 2 if plan.learning_curve else 0.0
    return TrainingEstimate(rate, training, evaluations, curve, batches)
