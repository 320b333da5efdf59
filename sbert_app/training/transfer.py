"""Transfer: how well a linear classifier learns from embeddings, by the protocol of SentEval (Conneau & Kiela 2018).

One thing differs: embeddings are scaled to a mean length of √dim. The learning rate was chosen for embeddings that are not
normalised; from those of length 1 the classifiers would learn too slowly and stop too early.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sbert_app.training.linear_heads import Heads, Tick, fit_heads
from sbert_app.vectors import Vectors

FOLDS, SEED, DEV_SHARE = 10, 1111, 0.05
L2 = (1e-5, 1e-4, 1e-3, 1e-2)
Targets = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Transfer:
    """Accuracy, 0..1: over all rows in turn, fold by fold, or on the test part. protocol: how it was measured, in words.

    chosen: of each fold, the weight decay; of the quick form, the inverse strength C. predicted: the class given to each tested
    row, in their order.
    """

    accuracy: float
    folds: list[float]
    chosen: list[float]
    predicted: Targets
    protocol: str


def cross_validated(features: Vectors, targets: Targets, folds: int = FOLDS, tick: Tick = lambda: None) -> Transfer:
    """Nested cross-validation, for data without a test part: in each fold the weight decay is chosen by folds of the rest.

    features (n, dim), targets (n,), 0..C-1, each class in `folds` rows or more.
    """
    x, y = torch.from_numpy(scaled(features)), torch.from_numpy(targets)
    tests = stratified(targets, np.arange(len(targets)), folds)
    inner = [stratified(targets, np.flatnonzero(~test), folds) for test in tests]
    train = [~test & ~dev for test, devs in zip(tests, inner, strict=True) for dev in devs]
    dev = [part for devs in inner for part in devs]
    chosen = _choose(x, y, train, dev, groups=folds, tick=tick)
    held = [_dev_part(~test) for test in tests]
    heads = _fit(x, y, [~test & ~part for test, part in zip(tests, held, strict=True)], held, chosen, tick)
    predicted = heads.predict(x).numpy()[np.arange(len(targets)), np.argmax(tests, axis=0)]
    shares = [float((predicted == targets)[test].mean()) for test in tests]
    protocol = f"nested cross-validation, {folds} folds"
    return Transfer(float(np.mean(shares)), shares, chosen, predicted, protocol)


def with_test_part(
    features: Vectors, targets: Targets, test: Mask, dev: Mask | None = None, folds: int = FOLDS, tick: Tick = lambda: None
) -> Transfer:
    """For data with a test part: the weight decay is chosen by folds of the rest, or on the dev part if there is one.

    test, dev: boolean (n,).
    """
    x, y = torch.from_numpy(scaled(features)), torch.from_numpy(targets)
    how = f"by {folds} folds of the rest" if dev is None else "on the dev part"
    devs = stratified(targets, np.flatnonzero(~test), folds) if dev is None else [dev]
    chosen = _choose(x, y, [~test & ~part for part in devs], devs, groups=1, tick=tick)
    dev = _dev_part(~test) if dev is None else dev
    heads = _fit(x, y, [~test & ~dev], [dev], chosen, tick)
    predicted = heads.predict(x[torch.from_numpy(test)]).numpy()[:, 0]
    accuracy = float((predicted == targets[test]).mean())
    return Transfer(accuracy, [accuracy], chosen, predicted, f"test part, weight decay chosen {how}")


def scaled(features: Vectors) -> Vectors:
    """The features with a mean length of √dim."""
    length = float(np.linalg.norm(features, axis=1).mean()) or 1.0
    return features * np.float32(features.shape[1] ** 0.5 / length)


def stratified(targets: Targets, rows: NDArray[np.int64], folds: int) -> list[Mask]:
    """The rows cut in parts with the same share of each class, as masks over all rows."""
    from sklearn.model_selection import StratifiedKFold

    masks = []
    for _, part in StratifiedKFold(folds, shuffle=True, random_state=SEED).split(np.zeros(len(rows)), targets[rows]):
        mask = np.zeros(len(targets), bool)
        mask[rows[part]] = True
        masks.append(mask)
    return masks


def _dev_part(rest: Mask) -> Mask:
    """A share of these rows by which the last fit is stopped."""
    rows = np.flatnonzero(rest)
    mask = np.zeros(len(rest), bool)
    mask[np.random.default_rng(SEED).choice(rows, max(1, round(DEV_SHARE * len(rows))), replace=False)] = True
    return mask


def _choose(x: Tensor, y: Tensor, train: list[Mask], dev: list[Mask], groups: int, tick: Tick) -> list[float]:
    """The best weight decay of each group of equally many parts, by the mean accuracy on their dev rows."""
    heads = _fit(x, y, [mask for mask in train for _ in L2], [mask for mask in dev for _ in L2], list(L2) * len(train), tick)
    means = heads.dev.view(groups, -1, len(L2)).mean(1)
    return [L2[int(best)] for best in means.argmax(1)]


def _fit(x: Tensor, y: Tensor, train: list[Mask], dev: list[Mask], l2: list[float], tick: Tick) -> Heads:
    own, held = (torch.from_numpy(np.stack(parts)) for parts in (train, dev))
    heads: Heads = fit_heads(x, y, own, held, torch.tensor(l2), SEED, tick)
    return heads
