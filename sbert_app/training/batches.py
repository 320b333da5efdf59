"""The order of training: seeded, every example once an epoch, examples of similar length together."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.models.batching import Rows

POOL = 32  # batches sorted by length together: long enough to save padding, short enough to keep the order random


def epoch_batches(lengths: NDArray[np.int64], size: int, seed: int, epoch: int) -> list[Rows]:
    """Batches of `size` rows (the last of a pool may be smaller), in an order that seed and epoch alone decide. lengths: (n,)."""
    generator = np.random.default_rng((seed, epoch))
    order = generator.permutation(len(lengths))
    batches = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in generator.permutation(len(batches))]


def batches_an_epoch(count: int, size: int) -> int:
    return -(-count // size)


def without_repeats(batches: Sequence[Rows], keys: Sequence[Sequence[Hashable]]) -> list[Rows]:
    """Swap rows between batches until, where it can be had, no batch holds a text twice. keys[i]: the texts of row i.

    For objectives that take every other sentence of the batch for a wrong answer. The batches keep their sizes.
    """
    sizes = [len(batch) for batch in batches]
    waiting = [row for batch in batches for row in batch.tolist()]
    arranged = []
    for size in sizes:
        taken: set[Hashable] = set()
        chosen: list[int] = []
        later: list[int] = []
        for place, row in enumerate(waiting):
            if len(chosen) == size:
                later += waiting[place:]
                break
            if taken.isdisjoint(keys[row]):
                taken.update(keys[row])
                chosen.append(row)
            else:
                later.append(row)
        filled = size - len(chosen)  # nothing fits any more: repeats cannot be avoided
        arranged.append(np.array(chosen + later[:filled], dtype=np.int64))
        waiting = later[filled:]
    return arranged
