"""What a trainer trains, in which batches, and the events of training."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from torch import Tensor, nn

from sbert_app.vectors import Integers, Rows

POOL = 32  # batches whose rows are sorted by length together: enough to save padding, few enough to keep the order random


@dataclass(frozen=True)
class BatchLoss:
    """One update of the weights. `loss`: mean over the batch, before the update."""

    step: int
    loss: float
    examples: int


@dataclass(frozen=True)
class Evaluation:
    """The dev score after `step` updates, higher is better. `best`: the highest so far."""

    step: int
    score: float
    best: bool


Event = BatchLoss | Evaluation | None  # None: only a point at which the run can be stopped and the device given to other jobs


class Trainee(Protocol):
    """Weights, training examples and a dev score: a `Siamese` or a `PairTrainee`."""

    encoder: Any  # whose weights they are
    module: nn.Module  # holds all trained weights
    vocabulary: Any  # the word vectors that are trained, to be restored at the end
    lengths: Integers  # tokens of each example's longest sentence, (n,)
    towers: int  # sentences per example

    @property
    def cut(self) -> float:
        """The share of the examples with a text that fills what the model reads, so that what is after it is not learnt."""
        return float((self.lengths >= self.encoder.max_length).mean())

    def head(self) -> list[nn.Parameter]:
        """The weights that start untrained."""
        return []

    def batches(self, size: int, seed: int, epoch: int) -> list[Rows]:
        """Every example once, in the order of this epoch."""
        return epoch_batches(self.lengths, size, seed, epoch)

    def forward(self, rows: Rows) -> Tensor:
        """The input of the loss, (b, …), with gradients."""

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        """The mean loss of a batch."""

    def evaluate(self) -> Iterator[float | None]:
        """Yield None per batch of dev examples, then the metric that decides the verdict."""


def epoch_batches(lengths: Integers, size: int, seed: int, epoch: int) -> list[Rows]:
    """Batches of `size` rows (the last of a pool may be smaller), ordered by seed and epoch alone. lengths: tokens, (n,)."""
    generator = np.random.default_rng((seed, epoch))
    order = generator.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in generator.permutation(len(batches))]
