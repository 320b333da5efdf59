"""Project rows to a plane: PCA at once, then UMAP (McInnes et al. 2018) from there, readable while it runs.

The neighbour graph comes from FAISS and the start from PCA, which is quicker than umap-learn's own and just as good
(Kobak & Linderman 2021: the start decides the global picture). One thread and one seed: the same rows give the same points.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Rows, Vectors, unit_rows

Points = NDArray[np.float32]  # (n, 2)

NEIGHBOURS = 15  # umap-learn's default, as is the distance below
MIN_DISTANCE = 0.1
# Few rows get umap-learn's 500 epochs, 10,000 and more get 100. Measured on 10,000 titles with 100, 200 and 500 epochs: map
# neighbours with the same tag 0.722, 0.723, 0.730; ARI of 20 clusters 0.64 each; 15 nearest shared with embeddings 19, 20, 22 %.
EPOCHS_TIMES_ROWS = 1_000_000
FEWEST_EPOCHS, MOST_EPOCHS = 100, 500
LEAST_ROWS = NEIGHBOURS + 1  # for fewer, PCA is the map
NEGATIVE_SAMPLES = 5  # per attracting step
NEAREST = 10  # neighbours compared, where another model draws the same rows
MAP_SIDE = 10.0  # side of the square that the starting points fill
SEED = 7
FLAT = 1e-4  # rows whose every coordinate varies less than this count as equal
GOLDEN_ANGLE = np.pi * (3 - 5**0.5)

# Measured on 2 cores, 384 dimensions: every row against every row takes 1.4 s for 20,000 rows and 35 s for 100,000.
EXACT_ROWS = 20_000
LISTS_READ = 16  # of sqrt(n) lists: for 100,000 rows 16 of 316
TRAINING_ROWS_PER_LIST = 40

_ONE_FIT = threading.Lock()  # umap-learn's parallel code may run only once at a time: a second fit in a process can abort it


@dataclass(frozen=True)
class Neighbours:
    """`rows` (q, k), nearest first; `scores` (q, k), cosine, higher is closer. A row may be its own neighbour."""

    rows: Rows
    scores: Vectors


class NeighbourIndex:
    """Nearest-neighbour index of unit rows, (n, dim) float32: exact up to 20,000 rows, inverted lists beyond."""

    def __init__(self, vectors: Vectors) -> None:
        import faiss

        self.rows, dim = vectors.shape
        self.exact = self.rows <= EXACT_ROWS
        self._index: faiss.Index = faiss.IndexFlatIP(dim)
        if not self.exact:
            lists = int(self.rows**0.5)
            sample = np.random.default_rng(0).choice(self.rows, min(self.rows, lists * TRAINING_ROWS_PER_LIST), replace=False)
            self._index = faiss.IndexIVFFlat(self._index, dim, lists, faiss.METRIC_INNER_PRODUCT)  # the default is L2
            self._index.train(vectors[sample])
            self._index.nprobe = LISTS_READ
        self._index.add(vectors)

    def search(self, queries: Vectors, k: int) -> Neighbours:
        """The k nearest rows of each unit query, at most n. If the lists hold fewer, the nearest one is repeated."""
        scores, rows = self._index.search(np.ascontiguousarray(queries), min(k, self.rows))
        missing = rows < 0
        return Neighbours(np.where(missing, rows[:, :1], rows), np.where(missing, scores[:, :1], scores))


def flat(vectors: Vectors) -> bool:
    """Whether all unit rows are the same, so that there is nothing to project."""
    return bool(np.ptp(vectors, axis=0).max() < FLAT)


def preview(vectors: Vectors) -> Points:
    """The first two principal components of unit rows, (n, dim) -> (n, 2), scaled to 0..10; a spiral if all rows are equal."""
    if flat(vectors):
        return _spiral(len(vectors))
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    points = centred @ axes[:, -1:-3:-1]
    points *= np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])  # the sign of an axis is arbitrary: fix it
    return scaled(points)


def scaled(points: NDArray[np.floating]) -> Points:
    """Stretch points to fill the square 0..10 in both directions."""
    low, spread = points.min(axis=0), np.ptp(points, axis=0)
    return np.asarray(MAP_SIDE * (points - low) / np.where(spread > 0, spread, 1), dtype=np.float32, order="C")


class UmapLayout:
    """A running UMAP: `points` (n, 2) move in place, `done` of `epochs` is counted. Both can be read from any thread."""

    def __init__(self, start: Points) -> None:
        self.points: Points = np.array(start, dtype=np.float32, order="C")
        self.epochs = int(np.clip(EPOCHS_TIMES_ROWS // max(1, len(start)), FEWEST_EPOCHS, MOST_EPOCHS))
        self.done = 0

    def run(self, neighbours: Neighbours, seed: int = SEED, stopping: Callable[[], bool] = lambda: False) -> None:
        """Optimise to the end, or until `stopping`. Waits while another fit runs in this process."""
        while not _ONE_FIT.acquire(timeout=0.1):
            if stopping():
                return
        try:
            self._fit(neighbours, np.random.RandomState(seed), stopping)
        finally:
            _ONE_FIT.release()

    def _fit(self, neighbours: Neighbours, random: np.random.RandomState, stopping: Callable[[], bool]) -> None:
        """Run the loop of umap-learn's optimize_layout_euclidean here, since that function cannot be stopped between two epochs."""
        from umap.umap_ import find_ab_params

        epoch = _compiled_epoch()
        head, tail, wait = self._edges(neighbours, random)
        self.points += random.normal(scale=1e-4, size=self.points.shape).astype(np.float32)  # separates equal rows
        a, b = find_ab_params(1.0, MIN_DISTANCE)
        seeds = random.randint(-(2**31) + 1, 2**31 - 1, 3).astype(np.int64)
        states = seeds + self.points[:, :1].astype(np.float64).view(np.int64)
        next_pull, wait_push = wait.copy(), wait / NEGATIVE_SAMPLES
        next_push, no_density = wait_push.copy(), np.zeros(1, np.float32)
        for number in range(self.epochs):
            if stopping():
                return
            alpha = 1 - max(0, number - 1) / self.epochs
            epoch(
                self.points, self.points, head, tail, len(self.points), wait, a, b, states, 1.0, 2, True, alpha,
                wait_push, next_push, next_pull, number, False, no_density, no_density, 0, 0, 0, 0, no_density, no_density, 0,
            )  # fmt: skip
            self.done = number + 1

    def _edges(self, neighbours: Neighbours, random: np.random.RandomState) -> tuple[NDArray[np.int32], ...]:
        """Both ends of each edge of the neighbour graph, (e,), and the epochs between two of its attracting steps, (e,)."""
        from umap.umap_ import fuzzy_simplicial_set, make_epochs_per_sample

        rows, distances = neighbours.rows.astype(np.int32), np.maximum(0, 1 - neighbours.scores)
        graph = fuzzy_simplicial_set(self.points, rows.shape[1], random, "cosine", knn_indices=rows, knn_dists=distances)[0].tocoo()
        graph.sum_duplicates()
        strong = graph.data >= graph.data.max() / self.epochs  # a weaker edge would never act
        return graph.row[strong], graph.col[strong], make_epochs_per_sample(graph.data[strong], self.epochs)


@cache
def _compiled_epoch() -> Callable[..., None]:
    """Return umap-learn's loop over the edges, compiled once on a machine; umap-learn compiles it again in each process."""
    from umap import umap_
    from umap.layouts import _get_optimize_layout_euclidean_single_epoch_fn

    epoch = _get_optimize_layout_euclidean_single_epoch_fn(parallel=False)
    for function in (epoch, umap_.smooth_knn_dist, umap_.compute_membership_strengths):
        function.enable_caching()
    return epoch


def placed(nearest: NDArray[np.integer], points: Points) -> Points:
    """Place new rows on an existing map, at the median point of their nearest rows, (q, k), usually k = 15 -> (q, 2).

    Measured on 10,000 titles placed among 10,000 others, share of neighbours on the map with the same tag: median 0.72, mean
    0.65, mean weighted by similarity 0.68, point of the nearest 0.71; 0.73 for the rows that the map was made from.
    """
    return np.asarray(np.median(points[nearest], axis=1), dtype=np.float32)


def warm_up() -> None:
    """Import umap-learn, and compile it on a new machine (10 to 20 s), so that the first map is quick."""
    vectors = unit_rows(np.random.default_rng(0).normal(size=(4 * NEIGHBOURS, 8)).astype(np.float32))
    UmapLayout(preview(vectors)).run(NeighbourIndex(vectors).search(vectors, NEIGHBOURS))


def kept(before: Neighbours, after: Neighbours) -> Vectors:
    """The share of each row's 10 nearest rows that stay, 0..1, (n,). A row's own index is ignored in both neighbour lists."""
    shares = np.empty(len(before.rows), np.float32)
    for row, lists in enumerate(zip(before.rows.tolist(), after.rows.tolist(), strict=True)):
        old, new = ([i for i in neighbours if i != row][:NEAREST] for neighbours in lists)
        shares[row] = len(set(old) & set(new)) / max(1, len(old))
    return shares


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


def _spiral(count: int) -> Points:
    """Distinct points, evenly spread like the seeds of a sunflower, (count, 2)."""
    number = np.arange(count)
    radius, angle = MAP_SIDE / 2 * np.sqrt((number + 0.5) / count), number * GOLDEN_ANGLE
    return np.stack([MAP_SIDE / 2 + radius * np.cos(angle), MAP_SIDE / 2 + radius * np.sin(angle)], 1).astype(np.float32)
