"""Measure a clustering, by silhouette and by labels that people gave, and what another model changes on a map."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.projection import Neighbours, Points
from sbert_app.vectors import Vectors

Labels = NDArray[np.int32]  # (n,) the cluster of each row, largest first from 0; -1 is an outlier

OUTLIER = -1
SAMPLE = 2_000  # rows for a silhouette, which compares each with each
SEED = 7
NEAREST = 10  # neighbours compared


def silhouettes(vectors: Vectors, labels: Labels) -> tuple[float | None, dict[int, float]]:
    """Mean silhouette by cosine, -1..1, 1 is best, overall and by cluster, on 2,000 rows, no outliers. One cluster: None, {}."""
    from sklearn.metrics import silhouette_samples

    sample = sample_of(len(labels))
    sample = sample[labels[sample] >= 0]
    chosen = labels[sample]
    if not 1 < len(np.unique(chosen)) < len(chosen):
        return None, {}
    values = silhouette_samples(distances_of(vectors[sample]), chosen, metric="precomputed")
    return float(values.mean()), {int(c): float(values[chosen == c].mean()) for c in np.unique(chosen)}


@dataclass(frozen=True)
class Accord:
    """Agreement of clusters with given labels. 1 is best; ARI is 0 by chance; purity rises with the number of clusters."""

    column: str
    values: int
    purity: float
    ari: float
    nmi: float


def accord(column: str, labels: Labels, gold: NDArray[np.object_]) -> Accord:
    """Compare clusters with one column, (n,) of strings. Outliers count as one more cluster."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
    from sklearn.metrics.cluster import contingency_matrix

    values, codes = np.unique(gold.astype(str), return_inverse=True)
    purity = float(contingency_matrix(codes, labels).max(axis=0).sum() / len(labels))
    ari, nmi = float(adjusted_rand_score(codes, labels)), float(normalized_mutual_info_score(codes, labels))
    return Accord(column, len(values), purity, ari, nmi)


def sample_of(rows: int) -> NDArray[np.int64]:
    """Sample up to 2,000 row numbers below `rows`, seeded, in order."""
    return np.sort(np.random.default_rng(SEED).choice(rows, min(rows, SAMPLE), replace=False))


def distances_of(vectors: Vectors) -> NDArray[np.float32]:
    """Cosine distances between all unit rows, (n, dim) -> (n, n), the diagonal exactly 0."""
    distances: NDArray[np.float32] = np.maximum(0, 1 - vectors @ vectors.T)
    np.fill_diagonal(distances, 0)
    return distances


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
