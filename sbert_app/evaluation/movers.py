"""Measure how far training moved each example towards its gold value."""

import numpy as np

from sbert_app.evaluation.weighted import Array

MARGINS = ("triplets", "positives")  # kinds whose prediction is the lead of the right sentence


def gains(kind: str, before: Array, after: Array, gold: Array) -> Array:
    """How much closer each example is to its gold value after training than before, (n,); below zero: further away.

    Pairs are compared by `rank_shares`, since two models' cosines are not on one scale; MARGINS by their lead.
    """
    if kind in MARGINS:
        return after - before
    if kind == "labelled":  # a pair of the positive label improves by rising, also above its label's mean rank
        return np.where(gold > 0, 1, -1) * (rank_shares(after) - rank_shares(before))
    target = rank_shares(gold)
    return np.abs(rank_shares(before) - target) - np.abs(rank_shares(after) - target)


def rank_shares(values: Array) -> Array:
    """Each value's mean rank as a share of the ranking, 0..1. (n,) -> (n,)."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts + 1) / 2
    return np.asarray(ranks[group] / max(1, len(values) - 1), dtype=np.float64)
