"""Group close rows around centres, from mined pairs: another threshold is another grouping, no new similarities.

The definition is that of sentence-transformers' `community_detection` with communities of two and more: each row with all
rows that reach the threshold to it is a candidate; the largest candidate is taken first (of equal ones the earlier row's),
its rows are gone, and the next whose centre is free takes what is left. So every member is close to the centre, each row
is in one group at most, and no chain of small steps joins what is far apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.mining import SimilarPairs
from sbert_app.vectors import Vectors

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Grouping:
    """g groups in one array, largest first: group i is rows[starts[i] : starts[i + 1]], its centre first, then best first.

    scores: cosine to the centre, 1 for the centre. starts: (g + 1,).
    """

    rows: Rows
    scores: Vectors
    starts: Rows

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def redundant(self) -> int:
        """The rows that could go: all but the centres."""
        return len(self.rows) - len(self)

    @cached_property
    def sizes(self) -> Rows:
        return np.diff(self.starts)

    @cached_property
    def centres(self) -> Rows:
        """The centre of each group, (g,)."""
        return self.rows[self.starts[:-1]]

    def group(self, number: int) -> tuple[Rows, Vectors]:
        """The rows of one group and their scores, the centre first."""
        part = slice(self.starts[number], self.starts[number + 1])
        return self.rows[part], self.scores[part]


class Neighbourhoods:
    """For each of n nodes its neighbours, best first, in one array. `weights`: how many rows a node stands for."""

    def __init__(self, pairs: SimilarPairs, weights: Rows) -> None:
        self._pairs, self._weights = pairs, weights
        # Both directions of each pair side by side: a stable sort by node keeps each node's neighbours best first.
        self._ends = np.stack([pairs.rows1, pairs.rows2], axis=1).ravel()
        self._others = np.stack([pairs.rows2, pairs.rows1], axis=1).ravel()
        order = np.argsort(self._ends, kind="stable")
        self._near, self._scores = self._others[order], np.repeat(pairs.scores, 2)[order]
        self._starts = np.concatenate([[0], np.bincount(self._ends, minlength=len(weights)).cumsum()])

    def groups(self, threshold: float) -> Grouping:
        """The groups of nodes at this cosine, which lies at the pairs' floor or above. A node of two rows is a group."""
        above = 2 * self._pairs.above(threshold)
        degrees = np.bincount(self._ends[:above], minlength=len(self._weights))
        around = np.bincount(self._ends[:above], self._weights[self._others[:above]], len(self._weights))
        groups = list(self._taken(self._weights + around.astype(np.int64), degrees))
        groups.sort(key=lambda group: -group[2])
        nodes = [group[0] for group in groups]
        scores = [group[1] for group in groups]
        starts = np.concatenate([[0], np.cumsum([len(group) for group in nodes])]).astype(np.int64)
        none = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        return Grouping(np.concatenate(nodes or none[0]), np.concatenate(scores or none[1]), starts)

    def _taken(self, sizes: Rows, degrees: Rows) -> Iterator[tuple[Rows, Vectors, int]]:
        """Candidates, largest first, without the nodes that are gone: (nodes, scores, rows they stand for)."""
        gone = np.zeros(len(sizes), dtype=bool)
        order = np.argsort(-sizes, kind="stable")
        for centre in order[: np.count_nonzero(sizes > 1)].tolist():
            if gone[centre]:
                continue
            part = slice(self._starts[centre], self._starts[centre] + degrees[centre])
            near = self._near[part]
            free = ~gone[near]
            nodes = np.concatenate([[centre], near[free]])
            rows = int(self._weights[nodes].sum())
            if rows > 1:
                gone[nodes] = True
                yield nodes, np.concatenate([[np.float32(1)], self._scores[part][free]]), rows
