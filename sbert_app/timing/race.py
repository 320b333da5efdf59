"""A fair race of a cross-encoder and SBERT: the same sentences, device, precision and batching; in turns, as load affects both."""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.timing.extrapolation import Throughput, Turn, pairs_of
from sbert_app.timing.lane import Device, Lane
from sbert_app.timing.result import ClosestPair, Conditions, FoundPair, TimingResult
from sbert_app.vectors import Rows, Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder
    from sbert_app.models.encoder import Encoder

TURN_SECONDS = 0.5
SBERT_TURNS = 8  # of SBERT after its first pass: enough to show the spread of its rate
SAMPLE = 262_144  # pairs sampled for the cross-encoder: all of 724 sentences, more than a CPU scores in any race
CHUNK = 2_048  # pairs tokenised at a time: the longest that others wait for the device
WARM_UP = 96  # items of each lane at least, not measured
PRODUCT_ROWS, PRODUCT_TURNS = 4_000, 5
LEAST_SENTENCES = 20
BLOCK = 1_024  # rows at a time for the closest pair: strips of 40 MB for 10,000 rows take a third of the time of tiles
TIE = 1e-6  # above float32 rounding: equal sentences may give 1.0000000 or 0.9999999
DONE, STOPPED = FINAL_STAGES = "Done", "Stopped"  # stages of the last step


@dataclass(frozen=True)
class RaceCorpus:
    """What is raced: of the `given` sentences the `distinct` different ones, at most `most` of them."""

    name: str
    given: Sequence[str]
    distinct: int
    most: int

    @property
    def problem(self) -> str:
        """Why there is no race, "" if there can be one."""
        few = f"A race needs at least {LEAST_SENTENCES} different sentences, there are {self.distinct}. Add more."
        return few if self.distinct < LEAST_SENTENCES else ""

    @property
    def count(self) -> int:
        """The number of sentences that are raced."""
        return min(self.distinct, self.most)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which sentences are left out."""
        notes = [f"{len(self.given) - self.distinct:,} repeated sentences left out."] if self.distinct < len(self.given) else []
        drawn = [f"{self.count:,} of {self.distinct:,} sentences, drawn at random."] if self.count < self.distinct else []
        return (*notes, *drawn)

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences that are raced, in random order."""
        unique = list(dict.fromkeys(self.given))
        return [unique[i] for i in np.random.default_rng(0).permutation(len(unique))[: self.most].tolist()]


@dataclass(frozen=True)
class LaneState:
    done: int  # items of the first pass
    total: int
    seconds: float  # of the first pass
    rate: float  # items per second over all turns


@dataclass(frozen=True)
class RaceState:
    """The state of both lanes."""

    cross: LaneState
    sbert: LaneState
    waited: float = 0.0  # seconds of waiting for the device
    answer: FoundPair | None = None  # None until SBERT has it
    conditions: Conditions | None = None  # of an experiment
    timing: TimingResult | None = None  # its result so far, None until the race is over


class Race:
    """`run` yields the state after each batch; close it to stop, and keep what was measured."""

    def __init__(self, encoder: "Encoder", cross: "CrossEncoder", sentences: Sequence[str], device: Device) -> None:
        self.encoder, self.cross_encoder, self.device = encoder, cross, device
        self.sentences = list(sentences)
        self.embeddings = np.zeros((len(sentences), encoder.dim), dtype=np.float32)
        self._pairs = sample_pairs(len(sentences), SAMPLE)
        self.sbert = Lane(len(sentences), self._encode, device, encoder.engine.settle)
        self.cross = Lane(len(self._pairs), self._score, device, cross.engine.settle)
        self.answer: FoundPair | None = None

    def warm_up(self) -> Iterator[None]:
        """Run both models a little, not measured, yielding after each batch: the first ones of a process are slower."""
        for lane in (self.sbert, self.cross):
            while lane.done < WARM_UP and not lane.passes:
                lane.advance()
                yield
            lane.reset()

    def run(self, seconds: float) -> Generator[RaceState, None, None]:
        """Alternate SBERT (all sentences once, then repeats to show the spread) and the cross-encoder for `seconds` of work."""
        while not self.sbert.passes or self.cross.seconds < seconds:
            if not self.sbert.passes or len(self.sbert.turns) < SBERT_TURNS:
                yield from self._turn(self.sbert)
            if self.cross.seconds < seconds:
                yield from self._turn(self.cross)

    @property
    def state(self) -> RaceState:
        cross = LaneState(self.cross.done, pairs_of(len(self.sentences)), self.cross.first_pass, self.cross.rate)
        sbert = LaneState(self.sbert.done, self.sbert.total, self.sbert.first_pass, self.sbert.rate)
        return RaceState(cross, sbert, self.cross.waited + self.sbert.waited, self.answer)

    def _turn(self, lane: Lane) -> Iterator[RaceState]:
        for _ in lane.turn(TURN_SECONDS):
            if self.sbert.passes and self.answer is None:
                with self.device():
                    start = time.perf_counter()
                    pair = closest_pair(unit_rows(self.embeddings))
                    seconds = self.sbert.first_pass + time.perf_counter() - start
                self.answer = FoundPair(pair, self.sentences[pair.row1], self.sentences[pair.row2], seconds)
            yield self.state

    def _encode(self) -> Iterator[int]:
        for rows, vectors in self.encoder.stream(self.sentences):
            self.embeddings[rows] = vectors
            yield len(rows)

    def _score(self) -> Iterator[int]:
        for start in range(0, len(self._pairs), CHUNK):
            chunk = self._pairs[start : start + CHUNK].tolist()
            for rows, _ in self.cross_encoder.stream([(self.sentences[row1], self.sentences[row2]) for row1, row2 in chunk]):
                yield len(rows)


def sample_pairs(sentences: int, most: int) -> Rows:
    """Distinct pairs of rows, (p, 2), the lower one first, in random order: all of them, or a random sample of `most`."""
    total = pairs_of(sentences)
    numbers = np.random.default_rng(0).choice(total, min(most, total), replace=False)
    higher = ((1 + np.sqrt(1 + 8 * numbers)) // 2).astype(np.int64)  # pairs are numbered (0, 1), (0, 2), (1, 2), (0, 3) ...
    return np.stack([numbers - higher * (higher - 1) // 2, higher], axis=1)


def closest_pair(vectors: Vectors) -> ClosestPair:
    """The pair of highest cosine among unit rows, (n, dim) float32, n >= 2. n(n-1)/2 products, exact."""
    best = -np.inf
    pairs: list[tuple[int, int, float]] = []
    for start in range(0, len(vectors) - 1, BLOCK):
        scores = vectors[start : start + BLOCK] @ vectors[start:].T
        for i, row in enumerate(scores):
            row[: i + 1] = -np.inf  # the row itself, and pairs already seen in reverse
        highest = float(scores.max())
        if highest >= best - TIE:
            best = max(best, highest)
            rows, columns = np.nonzero(scores >= best - TIE)
            pairs += zip((rows + start).tolist(), (columns + start).tolist(), scores[rows, columns].tolist(), strict=True)
    closest = [pair for pair in pairs if pair[2] >= best - TIE]
    row1, row2, _ = min(closest)
    return ClosestPair(row1, row2, best, len(closest))


def product_throughput(dim: int, device: Device) -> Throughput:
    """Pairs per second of the all-pairs step, on random unit vectors: its speed does not depend on their values."""
    random = np.random.default_rng(0).standard_normal((PRODUCT_ROWS, dim), dtype=np.float32)
    vectors: Vectors = unit_rows(random)
    turns: list[Turn] = []
    for _ in range(PRODUCT_TURNS + 1):  # the first is the warm-up
        with device():
            start = time.perf_counter()
            closest_pair(vectors)
            turns.append(Turn(pairs_of(PRODUCT_ROWS), time.perf_counter() - start))
    return Throughput(tuple(turns[1:]))
