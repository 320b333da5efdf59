"""Measure what another model changes: align the second map with the first, and compare the neighbours of each row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.neighbours import Neighbours
from sbert_app.mapping.projection import Points

NEAREST = 10  # neighbours compared


@dataclass(frozen=True)
class Drift:
    """`kept` (n,): the share of each row's 10 nearest rows that stay, 0..1; `points` (n, 2): the second map, aligned."""

    points: Points
    kept: NDArray[np.float32]


def drift(points: Points, other: Points, before: Neighbours, after: Neighbours) -> Drift:
    """Compare two maps (n, 2) of the same rows, and their neighbours. A row's own index is ignored in both neighbour lists."""
    kept = np.empty(len(points), np.float32)
    for row, (first, second) in enumerate(zip(before.rows.tolist(), after.rows.tolist(), strict=True)):
        old, new = ([i for i in neighbours if i != row][:NEAREST] for neighbours in (first, second))
        kept[row] = len(set(old) & set(new)) / max(1, len(old))
    return Drift(aligned(other, points), kept)


def aligned(other: Points, points: Points) -> Points:
    """Rotate, mirror, scale and shift `other` onto `points` by least squares (Procrustes). Distances keep their ratios."""
    from scipy.linalg import orthogonal_procrustes

    centre, target = other.mean(axis=0), points.mean(axis=0)
    if not np.ptp(other, axis=0).any():
        return np.asarray(other - centre + target, dtype=np.float32)
    rotation, scale = orthogonal_procrustes(other - centre, points - target)
    spread = float(((other - centre) ** 2).sum())
    return np.asarray((other - centre) @ rotation * (scale / spread) + target, dtype=np.float32)


def same_label(neighbours: Neighbours, codes: NDArray[np.integer]) -> float:
    """The share of nearest rows that have the row's own label, 0..1; codes (n,). The row itself does not count."""
    other = neighbours.rows != np.arange(len(codes))[:, None]
    same = codes[neighbours.rows] == codes[:, None]
    return float((same & other).sum() / max(1, other.sum()))
