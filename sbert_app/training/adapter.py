"""A linear adapter of embeddings from a few labelled pairs, in a second: W = I + U Vᵀ, or none where it does not help.

Fitted on embeddings that are there already, by the pairwise loss of CoSENT, and stopped early: when, cross-validation says. Where
its gain is not larger than one standard error there is none: without this rule it lost 3 points on arguments of other topics. As a
dense layer after pooling it is part of a sentence-transformers model.
"""

from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import threadpool_limits

from sbert_app.evaluation.metrics import average_precision, resample_weights
from sbert_app.training.objectives import CoSent
from sbert_app.vectors import COSINE, Integers, Mask, Vectors

RANK, RATE, SPREAD = 8, 0.003, 0.05  # SPREAD: of U at the start
STEPS, MOST_STEPS = (0, 10, 20, 30), 30  # more lose what fewer have gained
FOLDS, DRAWS = 5, 200
LEAST = 20  # labels


@dataclass(frozen=True)
class Adapter:
    """weight: (dim, dim), None where no adapter is clearly better; tried: number of steps -> average precision, held out."""

    weight: Vectors | None
    tried: dict[int, float]


@threadpool_limits.wrap(limits=1, user_api="openmp")  # type: ignore[untyped-decorator]
def fit_adapter(first: Vectors, second: Vectors, same: Mask, groups: Integers, seed: int = 0) -> Adapter:
    """Fit on the embeddings of n pairs, (n, dim) each, and whether they are the same, (n,).

    groups: (n,), equal for pairs that share a sentence: what is learnt of one would make the other easy.
    """
    from sklearn.model_selection import GroupKFold

    if len(same) < LEAST or same.all() or not same.any() or len(np.unique(groups)) < FOLDS:
        return Adapter(None, {})
    held_out = {steps: COSINE.pairs(first, second) for steps in STEPS}  # of pairs of the other folds, after so many steps
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=seed).split(first, groups=groups):
        if same[train].any() and not same[train].all():
            for steps, weight in _fit(first[train], second[train], same[train], seed).items():
                held_out[steps][test] = COSINE.pairs(first[test] @ weight.T, second[test] @ weight.T)
    gold, weights = same.astype(float), resample_weights(len(same), DRAWS, np.random.default_rng(seed))
    tried = {steps: float(average_precision(cosines, gold, np.ones((1, len(same))))[0]) for steps, cosines in held_out.items()}
    drawn = {steps: average_precision(cosines, gold, weights) for steps, cosines in held_out.items()}
    clear = [steps for steps in STEPS if tried[steps] - tried[0] > np.nanstd(drawn[steps] - drawn[0])]
    if not clear:
        return Adapter(None, tried)
    return Adapter(_fit(first, second, same, seed)[max(clear, key=lambda steps: tried[steps])], tried)


def _fit(first: Vectors, second: Vectors, same: Mask, seed: int) -> dict[int, Vectors]:
    """The weight after each of STEPS."""
    one, two, label = torch.from_numpy(first), torch.from_numpy(second), torch.from_numpy(same)
    dim, weights, objective = one.shape[1], {}, CoSent()
    start = torch.randn((dim, RANK), generator=torch.Generator().manual_seed(seed)) * SPREAD
    factors = [start.requires_grad_(), torch.zeros((dim, RANK), requires_grad=True)]
    optimizer = torch.optim.Adam(factors, lr=RATE)
    for step in range(MOST_STEPS + 1):
        weight = torch.eye(dim) + factors[0] @ factors[1].T
        if step in STEPS:
            weights[step] = weight.detach().numpy().copy()
        optimizer.zero_grad()
        objective([one @ weight.T, two @ weight.T], label).backward()
        optimizer.step()
    return weights
