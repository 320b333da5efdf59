"""Labelled examples as arrays. Knows no file: a machine that only trains needs nothing that reads tables."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Examples:
    """n examples in file order. `sentences` holds 2 or 3 columns of n; `rows` their row numbers in the file, counted from 1."""

    kind: str  # one of columns.KINDS
    sentences: tuple[list[str], ...]
    targets: NDArray[np.float64]  # (n,) scored: the score as 0..1; labelled: the label's number; else 0
    rows: NDArray[np.int64]
    labels: tuple[str, ...] = ()
    positive: int = -1  # labelled: the number of the label that means "the same"
    score_range: tuple[float, float] = (0.0, 1.0)  # scored: what 0 and 1 were in the file

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, places: NDArray[np.int64]) -> "Examples":
        """Some of the examples, in the order given."""
        columns = tuple([column[i] for i in places.tolist()] for column in self.sentences)
        return replace(self, sentences=columns, targets=self.targets[places], rows=self.rows[places])

    @property
    def gold(self) -> NDArray[np.float64]:
        """How close each pair is meant to be, 0..1: the score, or 1 for the label that means the same. (n,)"""
        return (self.targets == self.positive).astype(np.float64) if self.kind == "labelled" else self.targets

    def pairs_of(self, place: int) -> list[tuple[str, str]]:
        """The sentence pairs of one example, each in alphabetical order, small differences in writing removed."""
        anchor, *others = (" ".join(column[place].casefold().split()) for column in self.sentences)
        return [(min(anchor, other), max(anchor, other)) for other in others]
