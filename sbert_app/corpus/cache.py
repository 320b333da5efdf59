"""Embeddings kept on disk by model and text, so that no sentence is encoded twice. Bounded: the oldest go first."""

import hashlib
import logging
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.storage import atomic_folder
from sbert_app.vectors import Vectors

log = logging.getLogger(__name__)

CACHE_BYTES = 4 * 1024**3  # about 2.7 million embeddings of 384 dimensions

Keys = NDArray[np.uint64]


class EmbeddingCache:
    """Append-only segments under `folder/<model fingerprint>/`: keys.npy (n,) uint64, vectors.npy (n, dim)."""

    def __init__(self, folder: Path, limit_bytes: int = CACHE_BYTES) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    def lookup(self, model: str, sentences: Sequence[str], dim: int) -> tuple[Vectors, NDArray[np.bool_]]:
        """Embeddings of the sentences that are known, (n, dim) float32, and which those are, (n,) of bool."""
        keys = keys_of(sentences)
        vectors = np.zeros((len(sentences), dim), dtype=np.float32)
        known = np.zeros(len(sentences), dtype=bool)
        for segment in self._segments(model):
            try:
                stored = np.load(segment / "keys.npy")
                values = np.load(segment / "vectors.npy", mmap_mode="r")
            except (OSError, ValueError) as error:
                log.warning("cache segment %s is unreadable (%s), going on without it", segment.name, error)
                continue
            order = np.argsort(stored)
            place = np.minimum(np.searchsorted(stored, keys, sorter=order), len(stored) - 1)
            found = ~known & (stored[order[place]] == keys)
            vectors[found] = values[order[place[found]]]
            known |= found
        return vectors, known

    def add(self, model: str, sentences: Sequence[str], vectors: Vectors) -> None:
        """Keep embeddings. n sentences, (n, dim). A full disk costs the cache, not the work."""
        if not len(sentences):
            return
        try:
            with atomic_folder(self.folder / model / uuid.uuid4().hex) as segment:
                np.save(segment / "keys.npy", keys_of(sentences))
                np.save(segment / "vectors.npy", vectors)
        except OSError as error:
            log.warning("embeddings could not be cached: %s", error)
        self._trim()

    def _segments(self, model: str) -> list[Path]:
        folder = self.folder / model
        return sorted(p for p in folder.iterdir() if not p.name.startswith(".")) if folder.is_dir() else []

    def _trim(self) -> None:
        segments = [(p.stat().st_mtime, sum(f.stat().st_size for f in p.iterdir()), p) for p in self.folder.glob("*/[!.]*")]
        excess = sum(size for _, size, _ in segments) - self.limit_bytes
        for _, size, path in sorted(segments):
            if excess <= 0:
                return
            shutil.rmtree(path, ignore_errors=True)
            excess -= size


def keys_of(sentences: Sequence[str]) -> Keys:
    """A 64-bit digest of each sentence, (n,). Among a million sentences two share one with probability 3e-8."""
    digests = b"".join(hashlib.blake2b(sentence.encode(), digest_size=8).digest() for sentence in sentences)
    return np.frombuffer(digests, dtype=np.uint64)
