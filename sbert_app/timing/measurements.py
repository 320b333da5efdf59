"""Measurements beside the race: searches, all pairs of a few sentences by both systems, and the paper's Table 7 on this machine."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.models.words.vectors import AverageWordVectors
from sbert_app.timing.extrapolation import Throughput
from sbert_app.timing.lane import Device, Lane, finish
from sbert_app.vectors import Batches, Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder, Pair
    from sbert_app.models.encoder import Encoder

SIZES = (1_000, 10_000, 30_000)
QUERIES = 40
HITS = 10
NOISE = 0.6  # length of the noise added to a row to make a synthetic one: their cosine is 0.86
FIRST_SIZES = (10, 30)
SBERT_PASSES = 3
PLAIN_BATCH = 32  # sentences, a usual batch size
TURNS, TURN_SECONDS = 5, 0.5
WORDS, PLAIN, SMART = "Average word vectors", "SBERT", "SBERT, smart batching"


@dataclass(frozen=True)
class QueryTiming:
    """Median seconds of one search for the 10 nearest of `rows`. recall: recall@10 against exact search."""

    rows: int
    exact_seconds: float
    approximate_seconds: float
    recall: float
    synthetic: bool  # `rows` exceeds the corpus: vectors were sampled around its own


def query_timings(embeddings: Vectors, device: Device) -> Iterator[QueryTiming]:
    """Build both indexes over SIZES vectors and time searches in each. embeddings: (n, dim), unit rows."""
    random = np.random.default_rng(0)
    for size in SIZES:
        with device():
            synthetic = size > len(embeddings)
            vectors = _around(embeddings, size, random) if synthetic else embeddings[random.permutation(len(embeddings))[:size]]
            exact, approximate = VectorIndex.build(vectors, exact=True), VectorIndex.build(vectors, exact=False)
            queries = _around(embeddings, QUERIES, random)
            seconds = [median_seconds(partial(index.search, top=HITS), queries[:, None]) for index in (exact, approximate)]
        yield QueryTiming(size, seconds[0], seconds[1], approximate.report.recall, synthetic)


def _around(embeddings: Vectors, size: int, random: np.random.Generator) -> Vectors:
    """Unit vectors near randomly chosen rows: (size, dim)."""
    dim = embeddings.shape[1]
    noise = random.standard_normal((size, dim), dtype=np.float32) * np.float32(NOISE / dim**0.5)
    return unit_rows(embeddings[random.integers(0, len(embeddings), size)] + noise)


def median_seconds(work: Callable[[Any], object], queries: Sequence[Any] | Vectors, device: Device = nullcontext) -> float:
    """Median seconds of the work on each query; the first few warm up."""
    seconds = []
    for query in queries:
        with device():
            start = time.perf_counter()
            work(query)
            seconds.append(time.perf_counter() - start)
    return median(seconds[len(seconds) // 4 :])


@dataclass(frozen=True)
class SmallRun:
    """All pairs of a few sentences, scored by both systems. Scores: (p,), pairs in the order of `itertools.combinations`."""

    sentences: int
    sbert_seconds: float  # median of a few runs: a single one is mostly noise
    cross_seconds: float
    sbert_scores: Vectors
    cross_scores: Vectors
    sbert_first: "Pair"  # the closest pair by each system
    cross_first: "Pair"


def sizes(sentences: int, pairs_per_second: float, seconds: float) -> list[int]:
    """Numbers of sentences to run; the largest takes the cross-encoder about `seconds`."""
    largest = min(sentences, max(FIRST_SIZES[-1], int((2 * pairs_per_second * seconds) ** 0.5)))
    return sorted({*(size for size in FIRST_SIZES if size < largest), largest})


def small_run(encoder: "Encoder", cross: "CrossEncoder", sentences: Sequence[str], device: Device) -> Iterator[SmallRun | None]:
    """Score all pairs of the sentences by both systems; yields None after each batch, at last the run."""
    pairs = list(combinations(sentences, 2))
    cosines, scores = np.empty(len(pairs), dtype=np.float32), np.empty(len(pairs), dtype=np.float32)

    def embed() -> Iterator[int]:
        embeddings = unit_rows(encoder.encode(sentences))
        cosines[:] = (embeddings @ embeddings.T)[np.triu_indices(len(sentences), 1)]
        yield len(sentences)

    def score() -> Iterator[int]:
        for rows, values in cross.stream(pairs):
            scores[rows] = values[:, 0]
            yield len(rows)

    sbert_lane, cross_lane = Lane(len(sentences), embed, device), Lane(len(pairs), score, device)
    yield from finish(sbert_lane, SBERT_PASSES)
    yield from finish(cross_lane)
    closest = pairs[int(cosines.argmax())], pairs[int(scores.argmax())]
    yield SmallRun(len(sentences), median(sbert_lane.passes), cross_lane.first_pass, cosines, scores, *closest)


@dataclass(frozen=True)
class SystemSpeed:
    """One row: sentences per second of a system on a device."""

    system: str
    device: str
    throughput: Throughput


def measure_systems(encoder: "Encoder", sentences: Sequence[str], device: Device) -> Iterator[list[SystemSpeed]]:
    """Measure the systems in turns on the same sentences; yields the rows so far after each round."""
    streams: dict[str, Callable[[Sequence[str]], Batches]] = {
        WORDS: AverageWordVectors(encoder).stream,
        PLAIN: partial(plain_stream, encoder, batch_size=PLAIN_BATCH),
        SMART: encoder.stream,
    }

    def a_pass(stream: Callable[[Sequence[str]], Batches]) -> Callable[[], Iterator[int]]:
        return lambda: (len(rows) for rows, _ in stream(sentences))

    lanes = {name: Lane(len(sentences), a_pass(stream), device, encoder.engine.settle) for name, stream in streams.items()}
    for lane in lanes.values():
        lane.advance()  # warm-up
        lane.reset()
    for _ in range(TURNS):
        for lane in lanes.values():
            deque(lane.turn(TURN_SECONDS), maxlen=0)  # run to the end
        speeds = ((system, lane.throughput()) for system, lane in lanes.items())
        yield [SystemSpeed(system, encoder.runs_on, speed) for system, speed in speeds if speed]


def plain_stream(encoder: "Encoder", sentences: Sequence[str], batch_size: int) -> Batches:
    """Embed without smart batching: batches of a fixed size in the given order, padded to their longest sentence."""
    batches = (np.arange(start, min(start + batch_size, len(sentences))) for start in range(0, len(sentences), batch_size))
    return encoder.stream_batches(batches, lambda rows: encoder.pad(encoder.tokenize([sentences[i] for i in rows])))
