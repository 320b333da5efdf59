"""What a trainer needs of what it trains, and what it tells while it does."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from sbert_app.models.batching import Rows


@dataclass(frozen=True)
class Pause:
    """Nothing to tell; a moment at which the run can be stopped and the device given to others."""


@dataclass(frozen=True)
class Step:
    """One update of the weights. `loss`: mean over the batch, before the update."""

    step: int
    steps: int
    loss: float
    examples: int


@dataclass(frozen=True)
class Evaluation:
    """The dev score after `step` updates, higher is better. `best`: the highest so far, so its weights are the ones to keep."""

    step: int
    score: float
    best: bool


Event = Pause | Step | Evaluation


class Trainee(Protocol):
    """What can be trained: weights, examples, and a score. Implemented by `Siamese` and `Crossing`."""

    @property
    def module(self) -> nn.Module:
        """Everything that is trained."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each example's longest sentence, (n,)."""

    @property
    def towers(self) -> int:
        """Sentences that one example sends through the network."""

    def head(self) -> list[nn.Parameter]:
        """The weights that start untrained."""

    def batches(self, size: int, seed: int, epoch: int) -> list[Rows]:
        """Every example once, in the order of this epoch."""

    def forward(self, rows: Rows) -> Tensor:
        """What the loss is computed from, (b, …), with gradients."""

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        """The mean loss of a batch."""

    def evaluate(self) -> Iterator[float | None]:
        """None while the dev examples are computed, their score at the end."""
