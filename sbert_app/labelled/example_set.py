"""Labelled examples as arrays, without the table readers: a machine that only trains does not need those."""

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

    def take(self, positions: NDArray[np.int64]) -> "Examples":
        """The examples at these positions, in this order."""
        columns = tuple([column[i] for i in positions.tolist()] for column in self.sentences)
        return replace(self, sentences=columns, targets=self.targets[positions], rows=self.rows[positions])

    @property
    def gold(self) -> NDArray[np.float64]:
        """Expected similarity of each pair, (n,), 0..1: the score, or 1 for the label that means "the same", else 0."""
        return (self.targets == self.positive).astype(np.float64) if self.kind == "labelled" else self.targets

    @property
    def normalised(self) -> list[list[str]]:
        """The sentence columns with case and spaces normalised: equal texts are the same sentence."""
        return [[normalise(sentence) for sentence in column] for column in self.sentences]

    def pairs_of(self, position: int) -> list[tuple[str, str]]:
        """The sentence pairs of one example, normalised, each in alphabetical order."""
        anchor, *others = (normalise(column[position]) for column in self.sentences)
        return [(min(anchor, other), max(anchor, other)) for other in others]


def normalise(text: str) -> str:
    """The text without differences of case and spaces."""
    return " ".join(text.casefold().split())
