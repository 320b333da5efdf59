"""One Arrow file of rows of a collection in a folder: written whole, mapped into memory, checked before a row of it is read."""

import hashlib
import re
import struct
import zlib
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import EMBEDDING, ROW, Rows
from sbert_app.storage import checksum, reading, replacing

PARTS = "parts"
NAME = re.compile(r"[0-9a-f]{24}(?:-([0-9a-f]{8}))?\.arrow")  # digest and checksum of the file; those of former versions lack it
MAGIC_BYTES = 8
INFINITE = 0x7C00  # the exponent of float16 numbers that are infinite or none


class Part:
    """Rows of a schema. What is not as `write_part` made it is a DamagedError, when it is opened or when it is first read."""

    def __init__(self, folder: Path, name: str, schema: pa.Schema) -> None:
        """Reads as much as tells the number of rows."""
        self._folder, self._name = folder, name
        with damaged(folder):
            if not (NAME.fullmatch(name) and (folder / PARTS / name).is_file()):  # a device or a pipe has no end
                raise ValueError("no part")
            self._batch = _mapped(folder / PARTS / name, schema)

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    @cached_property
    def rows(self) -> pa.Table:
        with damaged(self._folder):
            expected = NAME.fullmatch(self._name)[1]  # type: ignore[index]
            if expected and checksum(self._folder / PARTS / self._name) != expected:
                raise ValueError(f"{self._name} has changed since it was written")
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
        return self.rows.column(ROW).to_numpy()  # type: ignore[no-any-return]

    @cached_property
    def embeddings(self) -> np.ndarray:
        """(n, dim) float16."""
        column = self.rows.column(EMBEDDING)
        return column.chunk(0).flatten().to_numpy(zero_copy_only=True).reshape(len(self), column.type.list_size)  # type: ignore[no-any-return]

    def check_ids(self, rows: Rows, ids: Rows) -> None:
        """Raise DamagedError unless these rows have these ids."""
        with damaged(self._folder):
            if not np.array_equal(self.ids[rows], ids):
                raise ValueError(f"its places name other rows of {self._name}")


def damaged(folder: Path) -> AbstractContextManager[None]:
    """Turn errors while a collection is read into a DamagedError."""
    return reading(f"The collection '{folder}'", "Index the files again, into a new folder.")


def write_part(folder: Path, rows: pa.Table) -> str:
    """Write rows as one part, whole or not at all, and return its name, which derives from its content."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows.combine_chunks(), max_chunksize=max(len(rows), 1))
    content = memoryview(sink.getvalue())
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
