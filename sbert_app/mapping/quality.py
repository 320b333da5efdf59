"""How good a grouping is: the silhouette among the sentences themselves, and how it goes with labels that people gave."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors

Labels = NDArray[np.int32]  # (n,) the cluster of each row, largest first from 0; -1 is an outlier

OUTLIER = -1
SAMPLE = 2_000  # rows that a silhouette is computed on: it compares each with each
SEED = 7


def silhouettes(vectors: Vectors, labels: Labels) -> tuple[float | None, dict[int, float]]:
    """Silhouette by cosine in the embedding space, -1..1, best is 1: of all rows and of each cluster; outliers left out.

    Over a sample of 2,000 rows. None and {} where there is one cluster.
    """
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
    """How clusters go with labels that people gave. All are 1 at best; ARI is 0 by chance; purity rises with the number."""

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
    """Up to 2,000 of so many rows, seeded, in order."""
    return np.sort(np.random.default_rng(SEED).choice(rows, min(rows, SAMPLE), replace=False))


def distances_of(vectors: Vectors) -> NDArray[np.float32]:
    """Cosine distances of unit rows, each with each, the diagonal exactly 0."""
    distances: NDArray[np.float32] = np.maximum(0, 1 - vectors @ vectors.T)
    np.fill_diagonal(distances, 0)
    return distances
