"""Encode pieces in this process, on its device."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sbert_app.bulk.pieces import Piece
from sbert_app.bulk.shards import Shards
from sbert_app.settings import Settings

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

TICK_SECONDS = 1.0


@dataclass(frozen=True)
class Encoded:
    """Rows that were encoded since the last report; error: why the shard `key` could not be, "" if it could."""

    key: str
    rows: int
    error: str = ""


class Engine(Protocol):
    """Encodes pieces into shards."""

    @property
    def window(self) -> int:
        """How many pieces to hand over before `encode`."""

    def add(self, key: str, piece: Piece) -> None:
        """Hand a piece over."""

    def close(self) -> None:
        """Give back what it holds."""

    def encode(self) -> Iterator[Encoded]:
        """Encode all that was handed over, in any order; a shard is on disk when its last row is reported."""


class ThisProcess:
    """One piece after the other. Reading the next one meanwhile would gain nothing: it takes a hundredth of the time."""

    window = 1

    def __init__(self, encoder: "Encoder", shards: Shards) -> None:
        self._encoder, self._shards = encoder, shards
        self._pieces: list[tuple[str, Piece]] = []

    def add(self, key: str, piece: Piece) -> None:
        self._pieces.append((key, piece))

    def close(self) -> None:
        self._pieces = []

    def encode(self) -> Iterator[Encoded]:
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
