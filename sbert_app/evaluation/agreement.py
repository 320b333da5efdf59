"""Measure how far two systems agree on which pairs are close."""

from dataclasses import dataclass

import numpy as np

from sbert_app.evaluation.scores import spearman
from sbert_app.vectors import Vectors

TOP = 10


@dataclass(frozen=True)
class Agreement:
    """Agreement of two systems on the same pairs. `shared`: number of pairs among the `top` closest of both systems."""

    pairs: int
    same_first: bool
    shared: int
    top: int
    spearman: float  # -1..1


def agreement(scores1: Vectors, scores2: Vectors) -> Agreement:
    """Compare two score lists over the same pairs, (p,) each, p >= 2. Higher is closer in both."""
    if scores1.shape != scores2.shape or scores1.ndim != 1 or len(scores1) < 2:
        raise ValueError(f"expected two lists of the same length, got shapes {scores1.shape} and {scores2.shape}")
    top = min(TOP, len(scores1))
    first, second = (np.argsort(-scores, kind="stable")[:top].tolist() for scores in (scores1, scores2))
    shared = len(set(first) & set(second))
    return Agreement(len(scores1), first[0] == second[0], shared, top, spearman(scores1, scores2))
