"""Cache embeddings on disk by model and sentence. Bounded: the oldest segments are deleted first."""

import hashlib
import logging
import math
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sbert_app.settings import ASSETS
from sbert_app.storage import DamagedError, UnreadableError, atomic_folder, discard, reading, write_failure
from sbert_app.vectors import Integers, Mask, Vectors

log = logging.getLogger(__name__)

WARN_SECONDS = 600  # between two lines that the disk is full
CACHE_BYTES = 4 * 1024**3  # about 2.7 million embeddings of 384 dimensions
SHIPPED = ASSETS / "embeddings"  # of what comes with the app, by `python -m tests.shipped`
SEGMENT = "[0-9a-f]" * 32  # a pattern of the names that `add` gives
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, well-mixed bits; changing it would make every segment count as damaged

Keys = NDArray[np.uint64]


class EmbeddingCache:
    """Append-only segments under `folder/<model fingerprint>/`, besides those that come with the app.

    folder: None to keep nothing. keys.npy: (n,) uint64, sorted digests of the sentences. vectors.npy: (n, dim) float32.
    checksums.npy: (n,) uint64, one for each key and vector. A damaged segment is deleted and its sentences are encoded again.
    """

    def __init__(self, folder: Path | None, limit_bytes: int = CACHE_BYTES, shipped: Path = SHIPPED) -> None:
        self.folder, self.limit_bytes, self.shipped = folder, limit_bytes, shipped
        self._untrimmed = math.inf  # bytes written since the folder was looked over
        self._warned = -math.inf
        self.asked: Counter[bool] = Counter()  # sentences that were looked up, by whether they were known

    def lookup(self, model: str, sentences: Sequence[str], dim: int) -> tuple[Vectors, Mask]:
        """Return cached embeddings, (n, dim) float32, zero where unknown, and which sentences are known, (n,) bool."""
        keys, known = keys_of(sentences), np.zeros(len(sentences), dtype=bool)
        vectors = np.zeros((len(sentences), dim), dtype=np.float32)
        folders = [folder / model for folder in (self.shipped, self.folder) if folder is not None]
        for segment in (segment for folder in folders for segment in sorted(folder.glob(SEGMENT))):
            try:
                with reading(f"The cache segment {segment.name}", "It is deleted."):
                    positions, values = _find(segment, keys, np.flatnonzero(~known), dim)
            except UnreadableError as error:
                if isinstance(error, DamagedError) and self.shipped not in segment.parents:
                    with suppress(OSError):  # another process may have deleted it
                        discard(segment)
                continue
            vectors[positions] = values
            known[positions] = True
        self.asked.update({True: int(known.sum()), False: int((~known).sum())})
        return vectors, known

    def add(self, model: str, sentences: Sequence[str], vectors: Vectors, instead_of: Sequence[Path] = ()) -> Path | None:
        """Store embeddings, (n, dim), in place of segments of parts of them. Returns the new one, or logs why not: None."""
        if self.folder is None or not len(sentences):
            return None
        try:
            segment = self.folder / model / uuid.uuid4().hex
            with atomic_folder(segment) as new:
                unsorted = keys_of(sentences)
                order = np.argsort(unsorted)
                keys, values = unsorted[order], np.asarray(vectors[order], dtype=np.float32)
                for name, array in (("keys", keys), ("vectors", values), ("checksums", _checksums(keys, values))):
                    np.save(new / f"{name}.npy", array)
            self._untrimmed += values.nbytes
            for part in instead_of:
                with suppress(FileNotFoundError):  # another job may have deleted it
                    discard(part)
            with suppress(FileNotFoundError):
                if self._untrimmed > self.limit_bytes / 100:
                    self._trim(self.folder)
                    self._untrimmed = 0
            return segment
        except Exception as error:
            if (failure := write_failure(error)) is None:
                raise
            if time.monotonic() - self._warned > WARN_SECONDS:
                self._warned = time.monotonic()
                log.warning("embeddings cannot be cached: %s", failure)
            return None

    def _trim(self, folder: Path) -> None:
        segments = [(p.lstat().st_mtime, sum(f.lstat().st_size for f in p.iterdir()), p) for p in folder.glob(f"*/{SEGMENT}")]
        excess = sum(size for _, size, _ in segments) - self.limit_bytes
        for _, size, path in sorted(segments):
            if excess <= 0:
                return
            discard(path)
            excess -= size


def keys_of(sentences: Sequence[str]) -> Keys:
    """64-bit digests of the sentences, (n,). Two of a million sentences share one with probability 3e-8."""
    digests = b"".join(hashlib.blake2b(sentence.encode(), digest_size=8).digest() for sentence in sentences)
    return np.frombuffer(digests, dtype=np.uint64)


def _find(segment: Path, keys: Keys, missing: Integers, dim: int) -> tuple[Integers, Vectors]:
    """Find missing keys in a segment: their positions, (k,), and vectors, (k, dim). Raises ValueError if it is damaged."""
    stored, values = np.load(segment / "keys.npy"), np.load(segment / "vectors.npy", mmap_mode="r")
    if not len(stored) or stored.dtype != np.uint64 or values.dtype != np.float32 or values.shape != (*stored.shape, dim):
        raise ValueError("keys and vectors do not fit together")
    checked = (segment / "checksums.npy").exists()  # older segments have no checksums and are not sorted
    order = np.arange(len(stored)) if checked else np.argsort(stored)
    rows = order[np.minimum(np.searchsorted(stored, keys[missing], sorter=order), len(stored) - 1)]
    hits = stored[rows] == keys[missing]
    rows = rows[hits]
    vectors = values[rows]
    if checked and (_checksums(stored[rows], vectors) != np.load(segment / "checksums.npy")[rows]).any():
        raise ValueError("vectors have changed since they were written")
    return missing[hits], vectors


def _checksums(keys: Keys, vectors: Vectors) -> Keys:
    """One checksum per row, (n,): its 32-bit words summed with odd weights modulo 2^64, which detects any one changed word."""
    words = np.asarray(vectors).view(np.uint32)
    weights = np.arange(1, 2 * words.shape[1], 2, dtype=np.uint64) * MULTIPLIER
    return keys + np.einsum("nd,d->n", words, weights, dtype=np.uint64)
