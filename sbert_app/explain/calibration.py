"""Calibrate a score: how unusual it would be between two random sentences."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors, unit_rows

PAIRS = 20_000


@dataclass(frozen=True)
class Calibration:
    """Cosines of random pairs of one corpus, sorted, (m,). example: whether it stands in, as the visitor has no corpus."""

    name: str
    scores: NDArray[np.float32]
    example: bool = False

    @property
    def whose(self) -> str:
        """The corpus, as a sentence names it."""
        return f"the example {self.name}" if self.example else self.name

    @classmethod
    def from_embeddings(cls, name: str, embeddings: Vectors) -> "Calibration | None":
        """Draw up to 20,000 pairs of different rows, seeded. embeddings: (n, dim). None for fewer than 2 rows."""
        rows = len(embeddings)
        if rows < 2:
            return None
        generator = np.random.default_rng(0)
        first = generator.integers(rows, size=PAIRS)
        second = (first + generator.integers(1, rows, size=PAIRS)) % rows
        pairs = unit_rows(embeddings[first]), unit_rows(embeddings[second])
        return cls(name, np.sort(np.einsum("nd,nd->n", *pairs)))

    def percentile(self, score: float) -> float:
        """Percentage of the random pairs that score lower, 0..100."""
        return 100 * float(np.searchsorted(self.scores, score)) / len(self.scores)


def in_words(percentile: float, name: str) -> str:
    """Phrase it: "higher than 99.95 % of random pairs of tickets.csv". Never 100 %, since the pairs are a sample."""
    if percentile < 0.05:
        return f"lower than almost all random pairs of {name}"
    share = f"{percentile:.1f}" if percentile < 99.9 else f"{min(percentile, 99.99):.2f}"
    return f"higher than {share} % of random pairs of {name}"
