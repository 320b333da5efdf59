"""Cut examples into folds: each is predicted by what was learnt from the others."""

import numpy as np
from numpy.typing import NDArray

Folds = NDArray[np.int64]

FOLDS = 10


def cut(groups: NDArray[np.int64], folds: int = FOLDS, seed: int = 0) -> Folds:
    """Number each example's fold, (n,), 0 to `folds` - 1. A group lies in one fold, and folds are about equally large.

    groups: (n,), 0 to G-1. With fewer groups than folds each group is a fold. The same seed gives the same folds.
    """
    from sklearn.model_selection import GroupKFold  # takes a second

    count = int(groups.max()) + 1
    if count == 1:
        return np.zeros(len(groups), np.int64)
    shuffled = np.random.default_rng(seed).permutation(count)[groups]
    numbers = np.empty(len(groups), np.int64)
    for number, (_, tested) in enumerate(GroupKFold(min(folds, count)).split(groups, groups=shuffled)):
        numbers[tested] = number
    return numbers
