"""Keep the token vectors of rows that were compared before: int8, the least recently used dropped first."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors

LIMIT_BYTES = 32 * 1024**2  # of 384 dimensions: 85,000 tokens, the rows of a person's last twenty queries or more
Rounded = tuple[NDArray[np.int8], Vectors]  # (T, dim), and what one step of each token's numbers is, (T, 1)


class TokenCache:
    """By row. What it returns is rounded for known and new rows alike, so that a search gives the same twice."""

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        self.nbytes = 0
        self._limit = limit_bytes
        self._rows: OrderedDict[int, Rounded] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, rows: Sequence[int], compute: Callable[[list[int]], Sequence[Vectors]]) -> list[Vectors]:
        """The unit token vectors of each row, (T, dim), in order. compute: those of rows that are not kept."""
        with self._lock:
            known = {row: self._rows[row] for row in rows if row in self._rows}
            for row in known:
                self._rows.move_to_end(row)
        missing = [row for row in dict.fromkeys(rows) if row not in known]
        computed = compute(missing) if missing else []
        new = {row: _rounded(vectors) for row, vectors in zip(missing, computed, strict=True)}
        self._keep(new)
        known |= new
        return [numbers * step for numbers, step in (known[row] for row in rows)]

    def _keep(self, new: dict[int, Rounded]) -> None:
        with self._lock:
            for row, rounded in new.items():
                if row not in self._rows:
                    self._rows[row] = rounded
                    self.nbytes += _size(rounded)
            while self.nbytes > self._limit:
                self.nbytes -= _size(self._rows.popitem(last=False)[1])


def _rounded(vectors: Vectors) -> Rounded:
    step = np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-12) / np.float32(127)
    return np.rint(vectors / step).astype(np.int8), step.astype(np.float32)


def _size(rounded: Rounded) -> int:
    return sum(part.nbytes for part in rounded)
