"""Measure how far training moved each example towards its gold value."""

import numpy as np

from sbert_app.evaluation.weighted import Array


def gains(kind: str, before: Array, after: Array, gold: Array) -> Array:
    """How much closer each example is to its gold value after training than before, (n,); below zero: further away.

    Pairs are compared by `rank_shares`, since two models' cosines are not on one scale; triplets and positives by their lead.
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
