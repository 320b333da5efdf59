"""Time one query against n sentences: exact index, approximate index, and encoding of the query itself."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.index import VectorIndex
from sbert_app.timing.lane import Device
from sbert_app.vectors import Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

SIZES = (1_000, 10_000, 30_000)
QUERIES = 40
HITS = 10
NOISE = 0.6  # length of the noise added to a row to make a synthetic one: their cosine is 0.86


@dataclass(frozen=True)
class QueryTiming:
    """Median seconds of one search for the 10 nearest of `rows`. recall: recall@10 against exact search."""

    rows: int
    exact_seconds: float
    approximate_seconds: float
    recall: float
    synthetic: bool  # `rows` exceeds the corpus: vectors were sampled around its own


def query_timings(embeddings: Vectors, device: Device, seed: int = 0) -> Iterator[QueryTiming]:
    """Build both indexes over SIZES vectors and time searches in each. embeddings: (n, dim), unit rows."""
    random = np.random.default_rng(seed)
    for size in SIZES:
        with device():
            synthetic = size > len(embeddings)
            vectors = _around(embeddings, size, random) if synthetic else embeddings[random.permutation(len(embeddings))[:size]]
            exact, approximate = VectorIndex.build(vectors, exact=True), VectorIndex.build(vectors, exact=False)
            queries = _around(embeddings, QUERIES, random)
            exact_seconds, approximate_seconds = _seconds(exact, queries), _seconds(approximate, queries)
        yield QueryTiming(size, exact_seconds, approximate_seconds, approximate.report.recall, synthetic)


def encode_seconds(encoder: "Encoder", queries: Sequence[str], device: Device) -> float:
    """Median seconds to embed one query, alone in its batch. The first few warm up."""
    seconds = []
    for query in queries:
        with device():
            start = time.perf_counter()
            encoder.encode([query])
            seconds.append(time.perf_counter() - start)
    return median(seconds[len(seconds) // 4 :])


def _around(embeddings: Vectors, size: int, random: np.random.Generator) -> Vectors:
    """Unit vectors near randomly chosen rows: (size, dim)."""
    dim = embeddings.shape[1]
    noise = random.standard_normal((size, dim), dtype=np.float32) * np.float32(NOISE / dim**0.5)
    return unit_rows(embeddings[random.integers(0, len(embeddings), size)] + noise)


def _seconds(index: VectorIndex, queries: Vectors) -> float:
    seconds = []
    for query in queries:
        start = time.perf_counter()
        index.search(query[None], HITS)
        seconds.append(time.perf_counter() - start)
    return median(seconds[len(seconds) // 4 :])
