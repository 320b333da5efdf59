"""The rows of a collection in a folder: Arrow files, written whole, mapped into memory, checked before a row of them is read."""

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW
from sbert_app.storage import checksum, reading, replacing
from sbert_app.vectors import Rows, Vectors, in_order

PARTS = "parts"  # the folder of the segments
NAME = re.compile(r"[0-9a-f]{24}(?:-([0-9a-f]{8}))?\.arrow")  # digest and checksum of the file; those of former versions lack it
MAGIC_BYTES = 8
INFINITE = 0x7C00  # the exponent of float16 numbers that are infinite or none
COLUMN_ROWS = 100_000  # of columns that are put in order at a time: Arrow's strings end at 2 GB


class Segment:
    """Rows of a schema, one file. What is not as `write_segment` made it is a DamagedError, when it is opened or first read."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        """Reads as much as tells the number of rows."""
        self.folder, self.name, self._path = folder, name, folder / PARTS / name
        with damaged(folder):
            if not (NAME.fullmatch(name) and self._path.is_file()):  # a device or a pipe has no end
                raise ValueError("no segment")
            self._batch = _mapped(self._path, schema)

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    @cached_property
    def rows(self) -> pa.Table:
        with damaged(self.folder):
            expected = NAME.fullmatch(self.name)[1]  # type: ignore[index]
            if expected and checksum(self._path) != expected:
                raise ValueError(f"{self.name} has changed since it was written")
            self._batch.validate(full=True)  # also files whose checksum fits: Arrow reads past the end where an offset is wrong
            vectors = self._batch.column(EMBEDDING).values
            if any(column.null_count for column in (*self._batch.columns, vectors)):
                raise ValueError("cells are missing")
            bits = vectors.to_numpy(zero_copy_only=True).view(np.uint16)
            if len(bits) and (bits & INFINITE).max() == INFINITE:
                raise ValueError("embeddings that are no numbers")
            return pa.Table.from_batches([self._batch])

    @cached_property
    def ids(self) -> Rows:
        return self.rows.column(ROW).to_numpy()

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(n, dim) float16."""
        column = self.rows.column(EMBEDDING)
        return column.chunk(0).flatten().to_numpy(zero_copy_only=True).reshape(len(self), column.type.list_size)


class Segments:
    """Rows of segments in ascending order of ids, each id once. Only ids and places are in memory (16 bytes a row)."""

    nbytes = 0  # mapped, not held

    def __init__(self, segments: Sequence[Segment], schema: pa.Schema, ids: Rows, places: Rows) -> None:
        """ids: (n,), ascending. places: (n,), the place of each row in all segments end to end. Raises ValueError for others."""
        self.ids, self.places = ids, places
        self.names = tuple(segment.name for segment in segments)
        self._segments, self._schema = segments, schema
        self._starts = np.cumsum([0, *map(len, segments)])
        if not ids.shape == places.shape == (len(ids),) or not ids.dtype == places.dtype == np.int64:
            raise ValueError("its ids and places are no arrays of whole numbers")
        if len(ids) and (ids[0] < 0 or (np.diff(ids) <= 0).any() or places.min() < 0 or places.max() >= self._starts[-1]):
            raise ValueError("its ids and places do not fit its rows")

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
        members, tables = [np.empty(0, dtype=np.int64)], [pa.schema([self._schema.field(name) for name in names]).empty_table()]
        for segment, own, rows in self._by_segment(positions):
            members.append(own)
            tables.append(segment.rows.select(names).take(pa.array(rows)))
        return pa.concat_tables(tables).combine_chunks().take(pa.array(np.argsort(np.concatenate(members))))

    def embeddings(self, positions: Rows) -> Vectors:
        """The embeddings at these positions, (n, dim) float32."""
        parts = ((own, segment.embeddings[rows]) for segment, own, rows in self._by_segment(positions))
        return in_order(parts, len(positions), self._schema.field(EMBEDDING).type.list_size)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Some columns of all rows."""
        return pa.concat_tables([self.take(self.ids[:0], names), *self.scan(COLUMN_ROWS, names)])

    def scan(self, batch: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows in ascending order of ids, `batch` at a time."""
        for start in range(0, len(self), batch):
            yield self.take(np.arange(start, min(start + batch, len(self))), columns)

    def _by_segment(self, positions: Rows) -> Iterator[tuple[Segment, Rows, Rows]]:
        """Split positions by their segments: the segment, which of the positions are in it, their rows in it."""
        places = np.asarray(self.places[positions])
        numbers = np.searchsorted(self._starts, places, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(order) else ():
            segment = self._segments[numbers[own[0]]]
            rows = places[own] - self._starts[numbers[own[0]]]
            with damaged(segment.folder):
                if not np.array_equal(segment.ids[rows], self.ids[positions[own]]):
                    raise ValueError(f"its places name other rows of {segment.name}")
            yield segment, own, rows


def damaged(folder: Path) -> AbstractContextManager[None]:
    """Turn errors while a collection is read into a DamagedError."""
    return reading(f"The collection '{folder}'", "Index the files again, into a new folder.")


def write_segment(folder: Path, rows: pa.Table) -> str:
    """Write rows as one segment, whole or not at all, and return its name, which derives from its content."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, rows.schema) as writer:
        writer.write_table(rows.combine_chunks(), max_chunksize=max(len(rows), 1))
    content = memoryview(stream.getvalue())
    name = f"{hashlib.blake2b(content, digest_size=12).hexdigest()}-{zlib.crc32(content):08x}.arrow"
    (folder / PARTS).mkdir(parents=True, exist_ok=True)
    with replacing(folder / PARTS / name) as temporary:
        temporary.write_bytes(content)
    return name


def _mapped(path: Path, schema: pa.Schema) -> pa.RecordBatch:
    """The one batch of a file, left on disk until it is read. Nothing that the file claims is believed to allocate memory."""
    with pa.memory_map(str(path)) as source:
        source.seek(MAGIC_BYTES)
        messages = pa.ipc.MessageReader.open_stream(source)
        if not pa.ipc.read_schema(messages.read_next_message()).equals(schema):
            raise ValueError("its columns are others")
        message = messages.read_next_message()
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("compressed, with any size when it is not")
        batch = pa.ipc.read_record_batch(message, schema)
        batch.validate()
        return batch


def _is_compressed(metadata: bytes) -> bool:
    """Whether a record batch names a compression: field 3 of the table that is field 2 of the message, in FlatBuffers."""
    message = struct.unpack_from("<I", metadata)[0]
    header = message + _offset(metadata, message, 2)
    return _offset(metadata, header + struct.unpack_from("<I", metadata, header)[0], 3) != 0


def _offset(metadata: bytes, table: int, field: int) -> int:
    """Where a field of a table is, from its beginning; 0 where it is not."""
    fields = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, fields)[0]
    return int(struct.unpack_from("<H", metadata, fields + 4 + 2 * field)[0]) if 4 + 2 * field < size else 0
