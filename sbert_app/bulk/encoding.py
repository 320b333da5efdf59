"""Encode pieces into shards: files of embeddings named by the sentences and the model, so that none is computed twice."""

import io
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.bulk.pieces import Piece
from sbert_app.settings import Settings
from sbert_app.storage import replacing, writing
from sbert_app.vectors import Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

KEY = re.compile(r"[0-9a-f]{32}")  # see `pieces.digest`
CHECKSUM_BYTES = 4  # after the array
TICK_SECONDS = 1.0

Halves = NDArray[np.float16]


class Shards:
    """Files `KEY.npy` in a folder that several processes, and machines, may write at once: equal names, equal content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, key: str) -> bool:
        return self.path(key).exists()

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.npy"

    def write(self, key: str, embeddings: Vectors) -> None:
        """Keep embeddings, (n, dim), as unit vectors in float16. The file is there as a whole or not at all, even after a crash."""
        stream = io.BytesIO()
        np.save(stream, unit_rows(embeddings).astype(np.float16))
        content = stream.getvalue()
        with writing("The shard"):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.path(key)) as temporary, temporary.open("wb") as file:
                file.write(content + _checksum(content))
                file.flush()
                os.fsync(file.fileno())

    def read(self, key: str, rows: int) -> Halves | None:
        """The embeddings of `rows` sentences, (rows, dim); None if they are not there. A damaged file is deleted."""
        try:
            content = self.path(key).read_bytes()
        except FileNotFoundError:
            return None
        array = content[:-CHECKSUM_BYTES]
        if content[-CHECKSUM_BYTES:] == _checksum(array):
            embeddings: Halves = np.load(io.BytesIO(array))
            if len(embeddings) == rows:
                return embeddings
        self.path(key).unlink(missing_ok=True)
        return None

    def keep_only(self, keys: set[str]) -> None:
        """Delete all other shards."""
        for path in self.folder.glob("*.npy"):
            if KEY.fullmatch(path.stem) and path.stem not in keys:
                with suppress(OSError):
                    path.unlink()


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "little")


@dataclass(frozen=True)
class Encoded:
    """Rows that were encoded since the last report; error: why the shard `key` could not be, "" if it could."""

    key: str
    rows: int
    error: str = ""


class ThisProcess:
    """One piece after the other. Reading the next one meanwhile would gain nothing: it takes a hundredth of the time."""

    window = 1  # how many pieces to hand over before `encode`

    def __init__(self, encoder: "Encoder", shards: Shards) -> None:
        self._encoder, self._shards = encoder, shards
        self._pieces: list[tuple[str, Piece]] = []

    def add(self, key: str, piece: Piece) -> None:
        self._pieces.append((key, piece))

    def encode(self) -> Iterator[Encoded]:
        """Encode all that was handed over, in any order; a shard is on disk when its last row is reported."""
        while self._pieces:
            key, piece = self._pieces.pop(0)
            yield from encode_shard(self._encoder, self._shards, key, piece.sentences)


def encode_shard(encoder: "Encoder", shards: Shards, key: str, sentences: list[str]) -> Iterator[Encoded]:
    """Encode sentences and write their shard; reports its progress every second."""
    embeddings = np.empty((len(sentences), encoder.dim), dtype=np.float32)
    unreported, last = 0, time.monotonic()
    for rows, vectors in encoder.stream(sentences, encoder.document_prompt):
        embeddings[rows] = vectors
        unreported += len(rows)
        if time.monotonic() - last > TICK_SECONDS:
            yield Encoded(key, unreported)
            unreported, last = 0, time.monotonic()
    shards.write(key, embeddings)
    yield Encoded(key, unreported)


def load_encoder(settings: Settings, name: str, converts: bool) -> "Encoder":
    """The encoder on its fastest engine. converts: whether a model is converted for one first. Raises UserError."""
    from sbert_app.models.registry import Registry

    registry = Registry(settings, converts=converts, patience=0)
    encoder = registry.encoder(name)
    registry.acceleration.wait()
    return encoder
