"""Many linear classifiers on the same features at once: each learns from its own rows, with its own strength of weight decay."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

# As in SentEval (Conneau & Kiela 2018), its settings for published tables.
BATCH, EPOCHS_A_ROUND, PATIENCE, MOST_EPOCHS, RATE, SEED = 64, 4, 5, 200, 1e-3, 1111
ROWS_AT_ONCE = 8_192
Tick = Callable[[], None]


@dataclass(frozen=True)
class Heads:
    """H classifiers: weight (dim, H, C), bias (H, C), and the share of dev rows that each predicts, (H,)."""

    weight: Tensor
    bias: Tensor
    dev: Tensor

    def predict(self, features: Tensor) -> Tensor:
        """The class that each head gives each row, (n, H). features (n, dim)."""
        return torch.cat([_logits(rows, self.weight, self.bias).argmax(2) for rows in features.split(ROWS_AT_ONCE)])


# Steps take milliseconds: beside other work, threads wait ten times longer.
@threadpool_limits.wrap(limits=1, user_api="openmp")  # type: ignore[untyped-decorator]
@torch.no_grad()
def fit_heads(features: Tensor, targets: Tensor, train: Tensor, dev: Tensor, l2: Tensor, tick: Tick = lambda: None) -> Heads:
    """Fit H heads by Adam on the cross-entropy; each keeps its best round on its dev rows and stops after PATIENCE worse ones.

    features (n, dim); targets (n,), 0..C-1; train, dev: boolean (H, n); l2: weight decay, (H,). tick is called before each step.
    All heads see the rows in one order, each only its own: a step is one matrix product for all of them.
    """
    run = _Training(features, targets, train, l2, torch.Generator().manual_seed(SEED))
    count, numbers = len(l2), torch.arange(len(l2))
    best = Heads(run.weight.clone(), run.bias.clone(), torch.full((count,), -1.0))
    waited = torch.zeros(count, dtype=torch.int64)
    for _ in range(0, MOST_EPOCHS, EPOCHS_A_ROUND):
        for _ in range(EPOCHS_A_ROUND):
            run.epoch(tick)
        correct = Heads(run.weight, run.bias, best.dev).predict(features) == targets[:, None]
        held = dev[numbers].T
        accuracy = (correct & held).sum(0) / held.sum(0).clamp(min=1)
        better = accuracy > best.dev[numbers]
        improved = numbers[better]
        best.weight[:, improved], best.bias[improved] = run.weight[:, better], run.bias[better]
        best.dev[improved] = accuracy[better]
        waited[numbers[~better]] += 1
        going = waited[numbers] <= PATIENCE
        numbers = numbers[going]
        if not len(numbers):
            break
        run.keep(going)
    return best


class _Training:
    """The heads that are still learning."""

    def __init__(self, features: Tensor, targets: Tensor, train: Tensor, l2: Tensor, random: torch.Generator) -> None:
        classes, dim = int(targets.max()) + 1, features.shape[1]
        self._features, self._random = features, random
        self._wanted = torch.nn.functional.one_hot(targets, classes).to(features.dtype)
        self._train, self._l2 = train.T.to(features.dtype), l2
        bound = 1 / math.sqrt(dim)
        start = [torch.empty(shape).uniform_(-bound, bound, generator=random) for shape in ((dim, 1, classes), (1, classes))]
        self.weight, self.bias = start[0].repeat(1, len(l2), 1), start[1].repeat(len(l2), 1)
        self._adam = torch.optim.Adam([self.weight, self.bias], lr=RATE, fused=True)
        # Of so many rows, each head has about BATCH of its own.
        self._batch = max(1, round(BATCH * len(features) / max(1.0, float(self._train.sum(0).mean()))))

    def epoch(self, tick: Tick) -> None:
        """All rows once, in a new order."""
        for rows in torch.randperm(len(self._features), generator=self._random).split(self._batch):
            tick()
            features, own = self._features[rows], self._train[rows]
            wrong = _logits(features, self.weight, self.bias).softmax(2) - self._wanted[rows, None]
            wrong *= (own / own.sum(0).clamp(min=1))[:, :, None]
            self.weight.grad = (features.T @ wrong.flatten(1)).view_as(self.weight) + self._l2[None, :, None] * self.weight
            self.bias.grad = wrong.sum(0) + self._l2[:, None] * self.bias
            self._adam.step()

    def keep(self, going: Tensor) -> None:
        """Continue with some of the heads only, and with Adam's averages of theirs."""
        kept = going.nonzero().ravel()
        for values, axis in ((self.weight, 1), (self.bias, 0)):
            values.grad, values.data = None, values.index_select(axis, kept)
            averages = self._adam.state[values]
            for name in ("exp_avg", "exp_avg_sq"):
                averages[name] = averages[name].index_select(axis, kept)
        self._train, self._l2 = self._train[:, going], self._l2[going]


def _logits(features: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(n, dim) -> (n, H, C)."""
    return (features @ weight.flatten(1)).view(len(features), *bias.shape) + bias
