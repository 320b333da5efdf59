"""Cluster the rows on the map; choose the number of clusters by silhouette, limit the share of outliers; silhouettes.

Clustering the map beats clustering the embeddings: on 20,000 titles with 20 tags k-means reaches an ARI of 0.65 on the map,
0.56 on the embeddings, and takes a tenth of a second.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.mapping.projection import Points, flat
from sbert_app.vectors import Integers, Vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Labels = NDArray[np.int32]  # (n,) the cluster of each row, largest first from 0; -1 is an outlier
OUTLIER = -1

METHODS = K_MEANS, AGGLOMERATIVE, DENSITY = "k-means", "agglomerative", "HDBSCAN"
CANDIDATES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 20, 22, 25, 30, 35, 40, 50, 60, 80, 100)
MOST_CLUSTERS = 100
SILHOUETTE_TOLERANCE = 0.008  # silhouettes closer than this differ by sampling noise
FEW, CLEARLY = 4, 0.05  # fewer clusters than FEW are chosen only if their silhouette is higher by CLEARLY
SMALLEST_SHARE = 0.005  # of the rows: the smallest cluster that HDBSCAN may find
LEAST_MEMBERS = 5
LINKED = 10  # neighbours on the map that the agglomerative method may merge across
SAMPLE = 2_000  # rows for a silhouette, which compares each with each
SEED = 7


@dataclass(frozen=True)
class Clustering:
    """`labels` (n,); `how`: a text on how the number of clusters was chosen."""

    labels: Labels
    method: str
    how: str

    @property
    def count(self) -> int:
        return int(self.labels.max(initial=OUTLIER)) + 1

    @property
    def sizes(self) -> Integers:
        """Rows of each cluster, (count,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=self.count)

    @property
    def outliers(self) -> int:
        return int((self.labels == OUTLIER).sum())

    def members(self, cluster: int) -> Integers:
        return np.flatnonzero(self.labels == cluster)


def cluster(points: Points, vectors: Vectors, method: str = K_MEANS, count: int | None = None) -> Clustering:
    """Cluster points (n, 2); `count` None: chosen by the silhouette of `vectors`. HDBSCAN ignores `count` and leaves outliers."""
    distinct = len(np.unique(points, axis=0))
    if distinct < 3 or flat(vectors):
        return Clustering(np.zeros(len(points), np.int32), method, "too few different rows to group: one cluster")
    if method == DENSITY:
        smallest = max(LEAST_MEMBERS, round(SMALLEST_SHARE * len(points)))
        from sklearn.cluster import HDBSCAN

        model = HDBSCAN(min(smallest, len(points)), min_samples=min(LINKED, len(points)), copy=True)
        labels = _largest_first(model.fit_predict(points))
        how = f"HDBSCAN finds the number itself: dense regions of at least {smallest:,} rows"
        return Clustering(labels, method, how)
    if count is None:
        count, how = _choose_count(points, vectors)
    else:
        few = f"as many as there are different points, {count} were asked for"
        count, how = min(count, distinct), few if count > distinct else "the number was set by hand"
    return Clustering(_largest_first(PARTITIONS[method](points, count)), method, how)


def _choose_count(points: Points, vectors: Vectors) -> tuple[int, str]:
    """The largest number of clusters with nearly the best silhouette. Without clear clusters the very best is mostly 2."""
    from sklearn import metrics

    sample = sample_of(len(points))
    distances, chosen = metrics.pairwise.cosine_distances(vectors[sample]), points[sample]
    most = min(len(np.unique(chosen, axis=0)) - 1, 2 * len(sample) ** 0.5)
    scores: dict[int, float] = {}
    for count in (count for count in CANDIDATES if count <= most):
        labels = _k_means(chosen, count)
        if len(np.unique(labels)) > 1:
            scores[count] = float(metrics.silhouette_score(distances, labels, metric="precomputed"))
    if not scores:
        return 1, "too few different rows to choose from"
    several = {count: score for count, score in scores.items() if count >= FEW}
    if several and max(several.values()) > max(scores.values()) - CLEARLY:
        scores = several
    count = max(count for count, score in scores.items() if score >= max(scores.values()) - SILHOUETTE_TOLERANCE)
    ceiling = ", the most that was tried" if count == max(scores) else ""
    return count, (
        f"{count} by silhouette{ceiling}: the largest number within {SILHOUETTE_TOLERANCE} of the best "
        f"({max(scores, key=lambda n: scores[n])}; {min(scores)} to {max(scores)} tried on {len(sample):,} rows)"
    )


def silhouettes(vectors: Vectors, labels: Labels) -> tuple[float | None, dict[int, float]]:
    """Mean silhouette by cosine, -1..1, 1 is best, overall and by cluster, on 2,000 rows, no outliers. One cluster: None, {}."""
    from sklearn.metrics import silhouette_samples

    sample = sample_of(len(labels))
    sample = sample[labels[sample] >= 0]
    chosen = labels[sample]
    if not 1 < len(np.unique(chosen)) < len(chosen):
        return None, {}
    values = silhouette_samples(vectors[sample], chosen, metric="cosine")
    return float(values.mean()), {int(c): float(values[chosen == c].mean()) for c in np.unique(chosen)}


def sample_of(rows: int, most: int = SAMPLE) -> Integers:
    """Sample up to `most` row numbers below `rows`, seeded, in order."""
    return np.sort(np.random.default_rng(SEED).choice(rows, min(rows, most), replace=False))


def with_fewer_outliers(clustering: Clustering, points: Points, share: float) -> Clustering:
    """Keep at most `share` (0..1) of the rows as outliers; assign the others to the nearest row's cluster, nearest first."""
    labels = clustering.labels
    outliers, inside = clustering.members(OUTLIER), np.flatnonzero(labels >= 0)
    allowed = int(share * len(labels))
    if len(outliers) <= allowed or not len(inside):
        return clustering
    from sklearn.neighbors import KDTree

    distances, nearest = KDTree(points[inside]).query(points[outliers])
    joining = np.argsort(distances[:, 0], kind="stable")[: len(outliers) - allowed]
    joined = labels.copy()
    joined[outliers[joining]] = labels[inside[nearest[joining, 0]]]
    return Clustering(_largest_first(joined), clustering.method, clustering.how)


def merged(clustering: Clustering, points: Points, groups: int) -> Clustering:
    """Merge clusters whose centres on the map, points (n, 2), are near each other, by Ward's criterion, into so many groups."""
    from scipy.cluster.hierarchy import fcluster, ward

    centres = [np.median(points[clustering.members(number)], axis=0) for number in range(clustering.count)]
    group_of = fcluster(ward(np.stack(centres)), groups, "maxclust")
    labels = np.append(group_of, OUTLIER)[clustering.labels]  # the last for outliers, -1
    return Clustering(_largest_first(labels), clustering.method, clustering.how)


def _k_means(points: Points, count: int) -> NDArray[np.integer]:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):  # points are so small that threads wait longer than they compute
        return KMeans(count, n_init=4, random_state=SEED).fit_predict(points)


def _agglomerative(points: Points, count: int) -> NDArray[np.integer]:
    """Merge by Ward's criterion, only neighbours on the map: all 200 million distances of 20,000 rows would be too many."""
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.neighbors import kneighbors_graph

    graph = _joined(points, kneighbors_graph(points, min(LINKED, len(points) - 1)))
    return AgglomerativeClustering(count, connectivity=graph).fit_predict(points)


def _joined(points: Points, graph: "csr_matrix") -> "csr_matrix":
    """Link each unconnected part of the graph to its nearest outside row by one edge: otherwise the parts could never merge."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import KDTree

    graph = graph.maximum(graph.T)
    while (components := connected_components(graph, directed=False))[0] > 1:
        count, component = components
        ends = []
        for number in range(1, count):
            inside, outside = np.flatnonzero(component == number), np.flatnonzero(component != number)
            distances, nearest = KDTree(points[outside]).query(points[inside])
            closest = int(distances[:, 0].argmin())
            ends.append((inside[closest], outside[nearest[closest, 0]]))
        first, second = np.array(ends).T
        edges = coo_matrix((np.ones(len(first)), (first, second)), shape=graph.shape).tocsr()
        graph = graph.maximum(edges.maximum(edges.T))
    return graph


PARTITIONS: dict[str, Callable[[Points, int], NDArray[np.integer]]] = {K_MEANS: _k_means, AGGLOMERATIVE: _agglomerative}


def _largest_first(labels: NDArray[np.integer]) -> Labels:
    numbers, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
    order = sorted((i for i in range(len(numbers)) if numbers[i] >= 0), key=lambda i: -counts[i])
    renamed = np.full(len(numbers), OUTLIER, np.int32)
    renamed[order] = np.arange(len(order), dtype=np.int32)
    return renamed[codes]
