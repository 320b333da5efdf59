"""The embeddings of pieces on disk: one file a shard, named by the sentences and the model, so that none is computed twice."""

import io
import os
import re
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.storage import replacing, writing
from sbert_app.vectors import Vectors, unit_rows

SUFFIX = ".npy"
KEY = re.compile(r"[0-9a-f]{32}")  # see `pieces.digest`
SEAL_BYTES = 4  # of the checksum behind the array

Halves = NDArray[np.float16]


class Shards:
    """Files `KEY.npy` in a folder that several processes, and machines, may write at once: equal names, equal content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        return self.path(key).exists()

    def path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def write(self, key: str, embeddings: Vectors) -> None:
        """Keep embeddings, (n, dim), as unit vectors in float16. The file is there as a whole or not at all, even after a crash."""
        stream = io.BytesIO()
        np.save(stream, unit_rows(embeddings).astype(np.float16))
        content = stream.getvalue()
        with writing("The shard"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.path(key)) as temporary, temporary.open("wb") as file:
                file.write(content + _seal(content))
                file.flush()
                os.fsync(file.fileno())

    def read(self, key: str, rows: int) -> Halves | None:
        """The embeddings of `rows` sentences, (rows, dim); None if they are not there. A damaged file is deleted."""
        try:
            content = self.path(key).read_bytes()
        except FileNotFoundError:
            return None
        if content[-SEAL_BYTES:] == _seal(content[:-SEAL_BYTES]):
            embeddings: Halves = np.load(io.BytesIO(content[:-SEAL_BYTES]))
            if len(embeddings) == rows:
                return embeddings
        self.path(key).unlink(missing_ok=True)
        return None

    def keep_only(self, keys: set[str]) -> None:
        """Delete all other shards."""
        for path in self.folder.glob(f"*{SUFFIX}"):
            if KEY.fullmatch(path.stem) and path.stem not in keys:
                with suppress(OSError):
                    path.unlink()


def _seal(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(SEAL_BYTES, "little")
