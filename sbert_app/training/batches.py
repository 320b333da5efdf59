"""The batches of an epoch: seeded, every example once, examples of similar length together."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.models.engine.batching import Rows

POOL = 32  # batches whose rows are sorted by length together: enough to save padding, few enough to keep the order random


def epoch_batches(lengths: NDArray[np.int64], size: int, seed: int, epoch: int) -> list[Rows]:
    """Batches of `size` rows (the last of a pool may be smaller), ordered by seed and epoch alone. lengths: tokens, (n,)."""
    generator = np.random.default_rng((seed, epoch))
    order = generator.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def batches_per_epoch(count: int, size: int) -> int:
    return -(-count // size)


def without_repeats(batches: Sequence[Rows], keys: Sequence[Sequence[Hashable]]) -> list[Rows]:
    """Exchange rows until, if possible, no batch repeats a text, which would be a false negative. keys[i]: texts of row i."""
    sizes = [len(batch) for batch in batches]
    pending = [row for batch in batches for row in batch.tolist()]
    arranged = []
    for size in sizes:
        used: set[Hashable] = set()
        chosen: list[int] = []
        later: list[int] = []
        for position, row in enumerate(pending):
            if len(chosen) == size:
                later += pending[position:]
                break
            if used.isdisjoint(keys[row]):
                used.update(keys[row])
                chosen.append(row)
            else:
                later.append(row)
        missing = size - len(chosen)  # above zero: repeats cannot be avoided
        arranged.append(np.array(chosen + later[:missing], dtype=np.int64))
        pending = later[missing:]
    return arranged
