"""Find the most similar pair of a corpus: every row against every other, by blocked matrix products."""

from dataclasses import dataclass

import numpy as np

from sbert_app.vectors import Vectors

BLOCK = 1_024  # rows at a time: 40 MB of scores for 10,000 rows
TIE = 1e-6  # above float32 rounding: equal sentences may give 1.0000000 or 0.9999999


@dataclass(frozen=True)
class ClosestPair:
    """Two rows, row1 < row2, and their cosine. `ties`: number of pairs with this cosine, of which this is the first."""

    row1: int
    row2: int
    score: float
    ties: int


def closest_pair(vectors: Vectors) -> ClosestPair:
    """The pair of highest cosine among unit rows, (n, dim) float32, n >= 2. n(n-1)/2 products, exact."""
    if len(vectors) < 2:
        raise ValueError(f"a pair needs two rows, got {len(vectors)}")
    best = -np.inf
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(vectors) - 1, BLOCK):
        scores = vectors[start : start + BLOCK] @ vectors[start:].T
        for i, row in enumerate(scores):
            row[: i + 1] = -np.inf  # the row itself, and pairs already seen in reverse
        highest = float(scores.max())
        if highest >= best - TIE:
            best = max(best, highest)
            rows, columns = np.nonzero(scores >= best - TIE)
            pairs += zip((rows + start).tolist(), (columns + start).tolist(), scores[rows, columns].tolist(), strict=True)
    closest = [pair for pair in pairs if pair[2] >= best - TIE]
    row1, row2, _ = min(closest)
    return ClosestPair(row1, row2, best, len(closest))
