"""The rows of a collection in a folder: parts, mapped into memory, and which of their rows count."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, Rows
from sbert_app.collections.part import Part
from sbert_app.vectors import Vectors

COLUMN_ROWS = 100_000  # of a column that are put in order at a time: Arrow's strings end at 2 GB


class Parts:
    """Rows of parts in ascending order of ids, each id once. Nothing of them is in memory but ids and places (16 bytes a row)."""

    def __init__(self, parts: Sequence[Part], schema: pa.Schema, ids: Rows, places: Rows) -> None:
        """ids: (n,), ascending. places: (n,), the place of each row in all parts laid end to end. Raises ValueError for others."""
        self.ids, self.places = ids, places
        self._parts, self._schema = parts, schema
        self._starts = np.cumsum([0, *map(len, parts)])
        if not ids.shape == places.shape == (len(ids),) or not ids.dtype == places.dtype == np.int64:
            raise ValueError("its ids and places are no arrays of whole numbers")
        if len(ids) and (ids[0] < 0 or (np.diff(ids) <= 0).any() or places.min() < 0 or places.max() >= self._starts[-1]):
            raise ValueError("its ids and places do not fit its rows")

    nbytes = 0  # mapped, not held

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: Sequence[int]) -> Rows:
        """The positions of these ids among all rows, without those that are unknown."""
        wanted = np.asarray(ids, dtype=np.int64)
        if not len(self):
            return wanted[:0]
        near = np.minimum(np.searchsorted(self.ids, wanted), len(self) - 1)
        return np.asarray(near[self.ids[near] == wanted], dtype=np.int64)

    def take(self, positions: Rows, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows at these positions, in this order."""
        names = list(columns or self._schema.names)
        members, pieces = [np.empty(0, dtype=np.int64)], [pa.schema([self._schema.field(name) for name in names]).empty_table()]
        for part, own, rows in self._of_parts(positions):
            members.append(own)
            pieces.append(part.rows.select(names).take(pa.array(rows)))
        return pa.concat_tables(pieces).combine_chunks().take(pa.array(np.argsort(np.concatenate(members))))

    def embeddings(self, positions: Rows) -> Vectors:
        """The embeddings at these positions, (n, dim) float32."""
        vectors = np.empty((len(positions), self._schema.field(EMBEDDING).type.list_size), dtype=np.float32)
        for part, own, rows in self._of_parts(positions):
            vectors[own] = part.embeddings[rows]
        return vectors

    def column(self, name: str) -> pa.Table:
        """One column of all rows."""
        return pa.concat_tables([self.take(self.ids[:0], [name]), *self.scan(COLUMN_ROWS, [name])])

    def scan(self, batch: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows in ascending order of ids, `batch` at a time."""
        for start in range(0, len(self), batch):
            yield self.take(np.arange(start, min(start + batch, len(self))), columns)

    def _of_parts(self, positions: Rows) -> Iterator[tuple[Part, Rows, Rows]]:
        """Split positions by their parts: the part, which of the positions are in it, their rows in it."""
        places = np.asarray(self.places[positions])
        numbers = np.searchsorted(self._starts, places, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else ():
            part = self._parts[numbers[own[0]]]
            rows = places[own] - self._starts[numbers[own[0]]]
            part.check_ids(rows, self.ids[positions[own]])
            yield part, own, rows
