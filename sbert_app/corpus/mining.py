"""All pairs of rows that are close: exact by tiles of matrix products, by nearest neighbours where those are too many."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.index import VectorIndex
from sbert_app.vectors import Vectors

# Measured on 2 cores, 384 dimensions: tiles take 0.2 s for 10,000 rows, 6 s for 50,000, 25 s for 100,000. Up to there
# exact neighbours are no faster than exact tiles (they look at each pair from both sides); beyond, see `by_neighbours`.
EXACT_ROWS = 100_000
FLOOR = 0.5  # real duplicates below are rare: on Quora's pairs average precision falls by 0.0002 for what is not kept
MOST_PAIRS = 1_000_000
TILE = 512  # a tile of scores is 1 MB: it stays in the processor's cache
NEIGHBOURS = 32
EQUAL = np.float32(1 - 1e-6)  # from here float32 rounding tells no difference: such a cosine counts as 1
QUERIES = 1_024  # rows asked at a time
CHECKED_ROWS = 200

Rows = NDArray[np.int32]


@dataclass(frozen=True)
class SimilarPairs:
    """Pairs of rows, rows1[i] < rows2[i], best first; scores: (m,) cosines. No pair lies below the floor.

    Exact: every pair from the floor upward is here. Otherwise `checked` holds the true pairs of a few rows, as
    (cosine, found: 1 or 0), to tell the share that was found.
    """

    rows1: Rows
    rows2: Rows
    scores: Vectors
    floor: float
    raised: bool = False  # above the floor that was asked for, because too many pairs are close
    checked: Vectors | None = None

    @property
    def exact(self) -> bool:
        return self.checked is None

    def above(self, threshold: float) -> int:
        """The number of pairs that reach the threshold: they are the first ones."""
        return int(np.searchsorted(-self.scores, -np.float32(threshold), side="right"))

    def recall(self, threshold: float) -> float | None:
        """The share of true pairs above the threshold that was found, 0..1; None where no checked row has one."""
        if self.checked is None:
            return 1.0
        hits = self.checked[self.checked[:, 0] >= np.float32(threshold), 1]
        return float(hits.mean()) if len(hits) else None


@dataclass(frozen=True)
class Mining:
    """So much is done; the last step holds the pairs."""

    done: int
    total: int
    pairs: SimilarPairs | None = None


def mine(vectors: Vectors, index: VectorIndex | None = None, floor: float = FLOOR, most: int = MOST_PAIRS) -> Iterator[Mining]:
    """The closest pairs of unit rows, (n, dim) float32; `index` over the same rows is built where it is needed.

    More than `most` pairs are not kept: the floor rises above the weakest, and the result tells where it stands then.
    """
    if len(vectors) <= EXACT_ROWS:
        return by_tiles(vectors, floor, most)
    return by_neighbours(vectors, index or VectorIndex.build(vectors), floor, most)


def by_tiles(vectors: Vectors, floor: float = FLOOR, most: int = MOST_PAIRS) -> Iterator[Mining]:
    """Every pair, exact: n(n-1)/2 products, one tile of them in memory at a time."""
    kept = _Kept(floor, most)
    starts = range(0, len(vectors), TILE)
    total, done = len(starts) * (len(starts) + 1) // 2, 0
    for start1 in starts:
        for start2 in range(start1, len(vectors), TILE):
            scores = vectors[start1 : start1 + TILE] @ vectors[start2 : start2 + TILE].T
            if start1 == start2:
                scores[np.tri(len(scores), dtype=bool)] = -np.inf  # itself, and pairs seen from the other side
            places = np.flatnonzero(scores >= kept.floor)
            rows1, rows2 = np.divmod(places, scores.shape[1])
            kept.add(rows1 + start1, rows2 + start2, scores.ravel()[places])
            done += 1
        yield Mining(done, total)
    yield Mining(total, total, kept.pairs())


def by_neighbours(vectors: Vectors, index: VectorIndex, floor: float = FLOOR, most: int = MOST_PAIRS) -> Iterator[Mining]:
    """The pairs of each row with its nearest ones: misses a pair where both have closer company, and what the index misses."""
    kept = _Kept(floor, most)
    for start in range(0, len(vectors), QUERIES):
        block = vectors[start : start + QUERIES]
        neighbours = index.search(block, NEIGHBOURS + 1)[1]  # one of them is the row itself
        own = np.repeat(np.arange(start, start + len(block)), neighbours.shape[1])
        other = neighbours.ravel()
        real = (other >= 0) & (other != own)
        rows1, rows2 = np.minimum(own, other)[real], np.maximum(own, other)[real]
        scores = np.einsum("ij,ij->i", vectors[rows1], vectors[rows2])  # the index holds half precision
        close = scores >= kept.floor
        kept.add(rows1[close], rows2[close], scores[close])
        yield Mining(start + len(block), len(vectors))
    pairs = kept.pairs()
    yield Mining(len(vectors), len(vectors), replace(pairs, checked=_check(vectors, pairs)))


class _Kept:
    """The best pairs so far. `floor` rises when there are too many."""

    def __init__(self, floor: float, most: int) -> None:
        self.floor = self._asked = float(np.float32(floor))
        self._most = most
        self._last_row: int | None = None  # once all that is kept is equal: the last row whose pairs fit
        self._parts: list[tuple[Rows, Rows, Vectors]] = []
        self._count = 0

    def add(self, rows1: NDArray[np.int64], rows2: NDArray[np.int64], scores: Vectors) -> None:
        if self._last_row is not None:
            early = rows1 <= self._last_row
            rows1, rows2, scores = rows1[early], rows2[early], scores[early]
        rounded = np.where(scores >= EQUAL, np.float32(1), scores)
        self._parts.append((rows1.astype(np.int32), rows2.astype(np.int32), rounded))
        self._count += len(scores)
        if self._count > 2 * self._most:
            self._shrink()

    def pairs(self) -> SimilarPairs:
        """All that is kept, best first."""
        self._shrink()
        ((rows1, rows2, scores),) = self._parts
        order = np.lexsort((rows2, rows1, -scores))
        return SimilarPairs(rows1[order], rows2[order], scores[order], self.floor, self.floor > self._asked)

    def _shrink(self) -> None:
        """Each pair once, no more than `most` of them. Those tied with the first one left out go too: the floor is a promise.

        It cannot be kept where more pairs are equal: then the first rows keep theirs, with whom all others are in one group.
        """
        none = np.empty(0, np.int32)
        columns = zip((none, none, np.empty(0, np.float32)), *self._parts, strict=True)
        rows1, rows2, scores = (np.concatenate(column) for column in columns)
        once = np.unique(rows1.astype(np.int64) << 32 | rows2, return_index=True)[1]
        if len(once) > self._most:
            weakest = np.partition(scores[once], -self._most - 1)[-self._most - 1]
            if weakest < 1:
                self.floor = float(np.nextafter(weakest, np.float32(2)))
                once = once[scores[once] > weakest]
            else:
                self.floor = float(EQUAL)
                once = once[scores[once] >= EQUAL][: self._most]
                self._last_row = int(rows1[once[-1]])
        self._parts, self._count = [(rows1[once], rows2[once], scores[once])], len(once)


def _check(vectors: Vectors, pairs: SimilarPairs) -> Vectors:
    """The true pairs of a few rows above the floor: (their cosine, 1 where they were found), (m, 2)."""
    sample = np.random.default_rng(0).choice(len(vectors), min(len(vectors), CHECKED_ROWS), replace=False)
    scores = vectors[sample] @ vectors.T
    scores[np.arange(len(sample)), sample] = -np.inf
    places, others = np.nonzero(scores >= np.float32(pairs.floor))
    own = sample[places]
    keys = np.minimum(own, others) << 32 | np.maximum(own, others)
    kept = np.isin(keys, pairs.rows1.astype(np.int64) << 32 | pairs.rows2)
    return np.stack([scores[places, others], kept.astype(np.float32)], axis=1)
