"""How long will it take? Train a throwaway copy for a few batches and time it, before anything starts."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sbert_app.labelled.splits import Split
from sbert_app.models.encoder import Encoder
from sbert_app.models.hardware import Hardware
from sbert_app.runs.plan import Plan
from sbert_app.training.objectives import build_objective
from sbert_app.training.siamese import Siamese
from sbert_app.training.trainee import Step
from sbert_app.training.trainer import Trainer

WARM, TIMED = 1, 4  # batches
DEV_SAMPLE = 64
SAMPLE = 1_024


@dataclass(frozen=True)
class Estimate:
    """What a few timed batches let expect. Seconds on this machine, as busy as it was when they ran."""

    pairs_per_second: float
    training: float
    evaluations: float
    learning_curve: float
    batches: int

    @property
    def seconds(self) -> float:
        return self.training + self.evaluations + self.learning_curve


def estimate(split: Split, plan: Plan, load: Callable[[str], Encoder], hardware: Hardware) -> Iterator[Estimate | None]:
    """None between two batches, the estimate at the end. Nothing of the copy is kept."""
    generator = np.random.default_rng(0)
    train, dev = (
        part.take(generator.permutation(len(part))[:most]) for part, most in ((split.train, SAMPLE), (split.dev, DEV_SAMPLE))
    )
    encoder = load(plan.base)
    objective = build_objective(plan.objective, encoder.dim, len(train.labels), plan.adjust)
    siamese = Siamese(encoder, objective, train, dev)
    trainer = Trainer(siamese, plan.options, hardware)
    yield None
    start, seconds, done, count = time.perf_counter(), 0.0, 0, 0
    for event in islice((e for e in trainer.run() if isinstance(e, Step)), WARM + TIMED):
        if event.step > min(WARM, trainer.steps - 1):  # a run of one batch has no other to time
            seconds += time.perf_counter() - start
            done, count = done + event.examples, count + 1
        yield None
        start = time.perf_counter()
    start = time.perf_counter()
    for score in siamese.evaluate():
        if score is None:
            yield None
    dev_seconds = (time.perf_counter() - start) / max(1, len(dev))
    yield _extrapolate(split, plan, trainer, done / seconds, dev_seconds, count)


def _extrapolate(split: Split, plan: Plan, trainer: Trainer, rate: float, dev_seconds: float, batches: int) -> Estimate:
    training = len(split.train) * plan.options.epochs / rate
    evaluations = dev_seconds * (trainer.evaluations * len(split.dev) + 2 * len(split.held_out))
    curve = (training + evaluations) / 2 if plan.learning_curve else 0.0
    return Estimate(rate, training, evaluations, curve, batches)
