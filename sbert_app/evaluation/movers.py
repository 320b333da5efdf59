"""Which examples moved, and whether towards what they are meant to be."""

import numpy as np

from sbert_app.evaluation.weighted import Array


def gains(kind: str, before: Array, after: Array, gold: Array) -> Array:
    """How much nearer each example came to its gold value, (n,); below zero: it moved away.

    Pairs: in shares of the ranking, since cosines of two models are not on one scale. Triplets: the change of the lead.
    """
    if kind in ("triplets", "positives"):
        return after - before
    target = rank_shares(gold)
    return np.abs(rank_shares(before) - target) - np.abs(rank_shares(after) - target)


def rank_shares(values: Array) -> Array:
    """Each value's mean rank as a share of the ranking, 0..1. (n,) -> (n,)."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(ranks[group] / max(1, len(values) - 1), dtype=np.float64)
