"""How the embeddings of two sentences are compared: by their cosine, unless a model brings a similarity of its own."""

from typing import Protocol

import numpy as np

from sbert_app.evaluation.weighted import Array
from sbert_app.vectors import Vectors, unit_rows


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
