"""What another model changes on the map: the second map turned onto the first, and whose neighbours are no longer the same."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.neighbours import Neighbours
from sbert_app.mapping.projection import Points

NEAREST = 10  # neighbours that are compared


@dataclass(frozen=True)
class Drift:
    """`kept` (n,): the share of each row's 10 nearest rows that stay so, 0..1; `points` (n, 2): the second map, aligned."""

    points: Points
    kept: NDArray[np.float32]


def drift(points: Points, moved: Points, before: Neighbours, after: Neighbours) -> Drift:
    """Compare two maps (n, 2) of the same rows and their neighbours. Neighbours may list the row itself: it counts on no side."""
    kept = np.empty(len(points), np.float32)
    for row, (first, second) in enumerate(zip(before.rows.tolist(), after.rows.tolist(), strict=True)):
        near, now = ([i for i in neighbours if i != row][:NEAREST] for neighbours in (first, second))
        kept[row] = len(set(near) & set(now)) / max(1, len(near))
    return Drift(aligned(moved, points), kept)


def aligned(moved: Points, points: Points) -> Points:
    """`moved` turned, mirrored, scaled and shifted onto `points`, least squares (Procrustes). Distances keep their ratios."""
    from scipy.linalg import orthogonal_procrustes

    centre, target = moved.mean(axis=0), points.mean(axis=0)
    if not np.ptp(moved, axis=0).any():
        return np.asarray(moved - centre + target, dtype=np.float32)
    turn, scale = orthogonal_procrustes(moved - centre, points - target)
    spread = float(((moved - centre) ** 2).sum())
    return np.asarray((moved - centre) @ turn * (scale / spread) + target, dtype=np.float32)


def same_label(neighbours: Neighbours, codes: NDArray[np.integer]) -> float:
    """The share of nearest rows with the row's own label, 0..1; codes (n,). The row itself does not count."""
    own = neighbours.rows == np.arange(len(codes))[:, None]
    same = codes[neighbours.rows] == codes[:, None]
    return float((same & ~own).sum() / max(1, (~own).sum()))
