"""Group close rows around centres, from mined pairs: a new threshold needs no new similarities.

As sentence-transformers' `community_detection` with communities of two and more: each row with all rows that reach the
threshold to it is a candidate; the largest (on a tie, of the earlier row) becomes a group, then the next whose centre is in
no group, without the rows that are in one. So every member is close to the centre, and no chain of small steps joins distant rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sbert_app.corpus.mining import SimilarPairs
from sbert_app.vectors import Rows, Vectors


@dataclass(frozen=True)
class Grouping:
    """g groups, largest first: group i is rows[starts[i] : starts[i + 1]], its centre, then by score (cosine to the centre)."""

    rows: Rows
    scores: Vectors
    starts: Rows  # (g + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def redundant(self) -> int:
        """The number of rows that could be dropped: all but the centres."""
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
    """The neighbours of each of n nodes in one array, best first. `weights`: the number of rows of each node."""

    def __init__(self, pairs: SimilarPairs, weights: Rows) -> None:
        self._pairs, self._weights = pairs, weights
        # Both directions of each pair side by side: a stable sort by node keeps each node's neighbours best first.
        self._ends = np.stack([pairs.rows1, pairs.rows2], axis=1).ravel()
        self._others = np.stack([pairs.rows2, pairs.rows1], axis=1).ravel()
        order = np.argsort(self._ends, kind="stable")
        self._neighbours, self._scores = self._others[order], np.repeat(pairs.scores, 2)[order]
        self._starts = np.concatenate([[0], np.bincount(self._ends, minlength=len(weights)).cumsum()])

    def groups(self, threshold: float) -> Grouping:
        """Group the nodes at this cosine, at least the floor of the pairs. A node of two rows is a group already."""
        above = 2 * self._pairs.above(threshold)
        degrees = np.bincount(self._ends[:above], minlength=len(self._weights))
        neighbour_rows = np.bincount(self._ends[:above], self._weights[self._others[:above]], len(self._weights))
        sizes = self._weights + neighbour_rows.astype(np.int64)
        grouped = np.zeros(len(sizes), dtype=bool)
        groups: list[tuple[int, Rows, Vectors]] = []  # rows, nodes, scores; the largest candidate first
        for centre in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes > 1)].tolist():
            if grouped[centre]:
                continue
            part = slice(self._starts[centre], self._starts[centre] + degrees[centre])
            neighbours = self._neighbours[part]
            free = ~grouped[neighbours]  # not in an earlier group
            nodes = np.concatenate([[centre], neighbours[free]])
            if (rows := int(self._weights[nodes].sum())) > 1:
                grouped[nodes] = True
                groups.append((rows, nodes, np.concatenate([[np.float32(1)], self._scores[part][free]])))
        groups.sort(key=lambda group: -group[0])
        nodes = np.concatenate([np.empty(0, np.int64), *(nodes for _, nodes, _ in groups)])
        scores = np.concatenate([np.empty(0, np.float32), *(scores for _, _, scores in groups)])
        return Grouping(nodes, scores, np.cumsum([0, *(len(nodes) for _, nodes, _ in groups)]))
