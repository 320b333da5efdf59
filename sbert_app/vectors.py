"""Arrays of embeddings and row numbers, and the cosine. Scores lie in -1..1, higher is closer."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Rows = Integers
Mask = NDArray[np.bool_]
Batches = Iterator[tuple[Rows, Vectors]]  # row numbers, and what was computed of them
Value = TypeVar("Value", bound=Hashable)


def unit_rows(vectors: Vectors) -> Vectors:
    """Scale each row to length 1; a zero row stays zero. (n, dim) -> (n, dim) float32."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def in_order(batches: Iterable[tuple[Rows, Vectors]], *shape: int) -> Vectors:
    """The values of all batches at their row numbers, in an array of this shape, float32."""
    values = np.empty(shape, dtype=np.float32)
    for rows, part in batches:
        values[rows] = part
    return values


def distinct(values: Sequence[Value]) -> tuple[list[Value], Rows]:
    """Return (unique values in order of appearance, inverse (n,)), where `unique[inverse[i]] == values[i]`."""
    positions: dict[Value, int] = {}
    inverse = np.fromiter((positions.setdefault(value, len(positions)) for value in values), np.int64, len(values))
    return list(positions), inverse


def cosine(u: Vectors, v: Vectors) -> float:
    """Cosine similarity of two vectors, (dim,) and (dim,)."""
    return float(unit_rows(u[None])[0] @ unit_rows(v[None])[0])


class Similarity(Protocol):
    """Scores of embeddings, -1..1, higher is closer: the cosine, or a model's own."""

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        """Compare row by row. (n, dim), (n, dim) -> (n,)."""

    def all(self, u: Vectors, v: Vectors) -> Array:
        """Compare each row of u with each of v. (n, dim), (k, dim) -> (n, k)."""


class Cosine:
    """The cosine, computed in float64."""

    def pairs(self, u: Vectors, v: Vectors) -> Array:
        return np.asarray(np.einsum("nd,nd->n", *(unit_rows(side).astype(np.float64) for side in (u, v))))

    def all(self, u: Vectors, v: Vectors) -> Array:
        return unit_rows(u).astype(np.float64) @ unit_rows(v).astype(np.float64).T


COSINE = Cosine()
