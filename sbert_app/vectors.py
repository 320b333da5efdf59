"""Cosine arithmetic on arrays. Scores lie in -1..1, higher is closer."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Rows = NDArray[np.int64]


def unit_rows(vectors: Vectors) -> Vectors:
    """Scale each row to length 1; a zero row stays zero. (n, dim) -> (n, dim) float32."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def in_order(batches: Iterable[tuple[NDArray[np.int64], Vectors]], *shape: int) -> Vectors:
    """The values of all batches at their row numbers, in an array of this shape, float32."""
    values = np.empty(shape, dtype=np.float32)
    for rows, part in batches:
        values[rows] = part
    return values


def cosine(u: Vectors, v: Vectors) -> float:
    """Cosine similarity of two vectors, (dim,) and (dim,)."""
    return float(unit_rows(u[None])[0] @ unit_rows(v[None])[0])
