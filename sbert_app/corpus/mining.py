"""Mine all close pairs of rows: exactly by matrix products, in large corpora by nearest neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.vector_index import VectorIndex, sampled
from sbert_app.step import Step
from sbert_app.vectors import Vectors

# Measured on 2 cores, 384 dimensions: tiles take 0.2 s for 10,000 rows, 6 s for 50,000, 25 s for 100,000. Up to there
# exact neighbours are no faster than exact tiles (they compare each pair twice); beyond, see `by_neighbours`.
EXACT_ROWS = 100_000
FLOOR = 0.5  # real duplicates below are rare: dropping them costs 0.0002 of average precision on Quora's pairs
MOST_PAIRS = 1_000_000
TILE = 512  # rows; a tile of scores is 1 MB and stays in the processor's cache
NEIGHBOURS = 32
COMPARING = "Comparing rows"  # the stage
EQUAL = np.float32(1 - 1e-6)  # a cosine from here on counts as 1: the difference is float32 rounding
QUERIES = 1_024  # rows per search of the index
CHECKED_ROWS = 200

Rows = NDArray[np.int32]
Numbers = NDArray[np.integer]  # of rows
Steps = Iterator[Step["SimilarPairs"]]  # the last one has the pairs


@dataclass(frozen=True)
class SimilarPairs:
    """Pairs of rows, rows1[i] < rows2[i], best first, with cosines, (m,). If exact, all pairs from the floor upward."""

    rows1: Rows
    rows2: Rows
    scores: Vectors
    floor: float
    raised: bool = False  # the floor is above FLOOR, because too many pairs are close
    checked: Vectors | None = None  # if not exact: true pairs of sampled rows as (cosine, 1 if found else 0), (k, 2)

    @property
    def exact(self) -> bool:
        return self.checked is None

    def above(self, threshold: float) -> int:
        """The number of pairs that reach the threshold; they come first."""
        return int(np.searchsorted(-self.scores, -np.float32(threshold), side="right"))

    def recall(self, threshold: float) -> float | None:
        """The share of true pairs above the threshold that was found, 0..1; None if no checked row has one."""
        if self.checked is None:
            return 1.0
        hits = self.checked[self.checked[:, 0] >= np.float32(threshold), 1]
        return float(hits.mean()) if len(hits) else None


def mine(vectors: Vectors, index: VectorIndex | None = None) -> Steps:
    """Mine the closest pairs of unit rows, (n, dim) float32; beyond MOST_PAIRS the floor rises. Builds a missing `index`."""
    if len(vectors) <= EXACT_ROWS:
        return by_tiles(vectors)
    return by_neighbours(vectors, index or VectorIndex.build(vectors))


def by_tiles(vectors: Vectors) -> Steps:
    """Compare all pairs exactly: n(n-1)/2 products, one tile in memory at a time."""
    best = BestPairs(MOST_PAIRS)
    starts = range(0, len(vectors), TILE)
    total, done = len(starts) * (len(starts) + 1) // 2, 0
    for start1 in starts:
        for start2 in range(start1, len(vectors), TILE):
            scores = vectors[start1 : start1 + TILE] @ vectors[start2 : start2 + TILE].T
            if start1 == start2:
                scores[np.tri(len(scores), dtype=bool)] = -np.inf  # the row itself, and pairs already seen in reverse
            cells = np.flatnonzero(scores >= best.floor)
            rows1, rows2 = np.divmod(cells, scores.shape[1])
            best.add(rows1 + start1, rows2 + start2, scores.ravel()[cells])
            done += 1
        yield Step(COMPARING, done, total)
    yield Step(COMPARING, total, total, result=best.pairs())


def by_neighbours(vectors: Vectors, index: VectorIndex) -> Steps:
    """Compare each row with its nearest ones. Misses pairs of which both rows have 32 closer ones, and what the index misses."""
    best = BestPairs(MOST_PAIRS)
    for start in range(0, len(vectors), QUERIES):
        block = vectors[start : start + QUERIES]
        nearest = index.search(block, NEIGHBOURS + 1)[1]  # one of them is the row itself
        scores = np.einsum("qd,qkd->qk", block, vectors[nearest])  # exact: the index holds half precision
        best.add_nearest(np.arange(start, start + len(block)), scores, nearest)
        yield Step(COMPARING, start + len(block), len(vectors))
    pairs = best.pairs()
    yield Step(COMPARING, len(vectors), len(vectors), result=replace(pairs, checked=_check(vectors, pairs)))


class BestPairs:
    """The best pairs so far, from the floor upward, which rises when there are more than `most`. kind: of the numbers of rows."""

    def __init__(self, most: int, kind: type[np.integer] = np.int32) -> None:
        self.floor, self._most, self._kind = FLOOR, most, kind
        self._last_row: int | None = None  # set once all kept pairs tie at 1: the last row whose pairs fit
        self._parts = [(np.empty(0, kind), np.empty(0, kind), np.empty(0, np.float32))]
        self._count = 0

    def add_nearest(self, rows: Numbers, scores: Vectors, others: Numbers) -> None:
        """Add each of these rows, (q,), with its nearest ones: cosines and rows, (q, k), row -1 for none."""
        own, other, score = np.repeat(rows, others.shape[1]), others.ravel(), scores.ravel()
        close = (other >= 0) & (other != own) & (score >= self.floor)
        self.add(np.minimum(own, other)[close], np.maximum(own, other)[close], score[close])

    def add(self, rows1: Numbers, rows2: Numbers, scores: Vectors) -> None:
        if self._last_row is not None:
            early = rows1 <= self._last_row
            rows1, rows2, scores = rows1[early], rows2[early], scores[early]
        rounded = np.where(scores >= EQUAL, np.float32(1), scores)
        self._parts.append((rows1.astype(self._kind), rows2.astype(self._kind), rounded))
        self._count += len(scores)
        if self._count > 2 * self._most:
            self._shrink()

    def pairs(self) -> SimilarPairs:
        """All kept pairs, best first."""
        self._shrink()
        ((rows1, rows2, scores),) = self._parts
        order = np.lexsort((rows2, rows1, -scores))
        return SimilarPairs(rows1[order], rows2[order], scores[order], self.floor, self.floor > FLOOR)

    def _shrink(self) -> None:
        """Remove repeated pairs, keep at most `most`. Those that tie with the first dropped one go too: so the floor holds."""
        rows1, rows2, scores = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        order = np.lexsort((rows2, rows1))
        again = (np.diff(rows1[order]) == 0) & (np.diff(rows2[order]) == 0)
        unique = np.delete(order, 1 + np.flatnonzero(again))
        if len(unique) > self._most:
            weakest = np.partition(scores[unique], -self._most - 1)[-self._most - 1]
            if weakest < 1:
                self.floor = float(np.nextafter(weakest, np.float32(2)))
                unique = unique[scores[unique] > weakest]
            else:  # too many tie at 1: keep those of the first rows, the rest belong to the same groups anyway
                self.floor = float(EQUAL)
                unique = unique[scores[unique] >= EQUAL][: self._most]
                self._last_row = int(rows1[unique[-1]])
        self._parts, self._count = [(rows1[unique], rows2[unique], scores[unique])], len(unique)


def _check(vectors: Vectors, pairs: SimilarPairs) -> Vectors:
    """The true pairs above the floor of some sampled rows, as (cosine, 1 if found else 0), (m, 2)."""
    sample = sampled(len(vectors), CHECKED_ROWS)
    scores = vectors[sample] @ vectors.T
    scores[np.arange(len(sample)), sample] = -np.inf
    positions, others = np.nonzero(scores >= np.float32(pairs.floor))
    rows = sample[positions]
    keys = np.minimum(rows, others) << 32 | np.maximum(rows, others)
    found = np.isin(keys, pairs.rows1.astype(np.int64) << 32 | pairs.rows2)
    return np.stack([scores[positions, others], found.astype(np.float32)], axis=1)
