"""Compare embeddings: of two sentences, by cosine or a model's own similarity; and a draft's with those of its full model."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.metrics import Array
from sbert_app.vectors import Vectors, unit_rows

NEAREST = 10  # neighbours compared


class Similarity(Protocol):
    """Scores of embeddings, -1..1, higher is closer."""

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        """Compare row by row. (n, dim), (n, dim) -> (n,)."""

    def all(self, u: Vectors, v: Vectors) -> Array:
        """Compare each row of u with each of v. (n, dim), (k, dim) -> (n, k)."""


class Cosine:
    """The cosine, computed in float64."""

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        cosines: Array = np.einsum("nd,nd->n", _unit(u), _unit(v))
        return cosines

    def all(self, u: Vectors, v: Vectors) -> Array:
        cosines: Array = _unit(u) @ _unit(v).T
        return cosines


COSINE = Cosine()


def _unit(vectors: Vectors) -> Array:
    return unit_rows(vectors).astype(np.float64)


@dataclass(frozen=True)
class DraftLoss:
    """Over `sentences`: cosines of both embeddings, -1..1; of each one's `nearest` neighbours, `same_neighbours` on average."""

    sentences: int
    mean_cosine: float
    least_cosine: float
    nearest: int
    same_neighbours: float

    def __str__(self) -> str:
        count = "1 sentence" if self.sentences == 1 else f"{self.sentences:,} sentences"
        text = f"measured on {count}: cosine to the full model {self.mean_cosine:.3f} on average, {self.least_cosine:.3f} at least"
        if self.nearest:
            text += f"; of the {self.nearest} nearest neighbours within them, {self.same_neighbours:.1f} are the same"
        return text


def draft_loss(full: Vectors, draft: Vectors) -> DraftLoss:
    """Compare two embeddings of the same n different sentences, (n, dim) each, n at least 1."""
    full, draft = unit_rows(full), unit_rows(draft)
    cosines, nearest = (full * draft).sum(1), min(NEAREST, len(full) - 1)
    same = [len(set(first) & set(second)) for first, second in zip(_nearest(full, nearest), _nearest(draft, nearest), strict=True)]
    return DraftLoss(len(full), float(cosines.mean()), float(cosines.min()), nearest, float(np.mean(same)))


def _nearest(vectors: Vectors, count: int) -> list[list[int]]:
    """The rows with the highest cosine to each row, itself left out."""
    scores: NDArray[np.float32] = vectors @ vectors.T
    np.fill_diagonal(scores, -np.inf)
    rows: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :count].tolist()
    return rows
