"""The race: a cross-encoder reads pairs, SBERT reads sentences, turn by turn on the same device.

Fair means: the same sentences, device, precision and tokeniser, smart batching in both lanes, and lanes that alternate, so
that whatever else the machine does falls on both. Knows nothing of visitors and screens.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.corpus.pairs import ClosestPair, closest_pair
from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.encoder import Encoder
from sbert_app.timing.extrapolation import pairs_of
from sbert_app.timing.lane import Device, Lane, finish
from sbert_app.timing.throughput import Throughput, Turn
from sbert_app.vectors import Vectors, unit_rows

TURN_SECONDS = 0.5
SBERT_TURNS = 8  # beyond the first pass SBERT works no longer than it takes to see how much its rate spreads
SAMPLE = 262_144  # pairs drawn for the cross-encoder: all of 724 sentences, and more than a processor reads in any race
CHUNK = 2_048  # pairs tokenised at a time: others wait no longer for the device than that takes
WARM_UP = 96  # items each lane works off before the clock runs
PRODUCT_ROWS, PRODUCT_TURNS = 4_000, 5


@dataclass(frozen=True)
class LaneState:
    """What a lane has done at a moment of the race."""

    done: int  # items of the first pass
    total: int
    seconds: float  # of the first pass
    rate: float  # items a second over all turns


@dataclass(frozen=True)
class RaceState:
    """Both lanes at a moment. `closest`: set from when SBERT has the answer; `answer_seconds`: how long that took it."""

    cross: LaneState
    sbert: LaneState
    waited: float = 0.0  # seconds that others had the device
    closest: ClosestPair | None = None
    answer_seconds: float | None = None


class Race:
    """`run` yields the state after each batch; close it to stop. What was measured until then stays."""

    def __init__(self, encoder: Encoder, cross: CrossEncoder, sentences: Sequence[str], device: Device, seed: int = 0) -> None:
        self._encoder, self._cross, self._device = encoder, cross, device
        self.sentences = list(sentences)
        self.embeddings = np.zeros((len(sentences), encoder.dim), dtype=np.float32)
        self._pairs = sample_pairs(len(sentences), SAMPLE, seed)
        self.sbert = Lane(len(sentences), self._encode, device)
        self.cross = Lane(len(self._pairs), self._score, device)
        self.all_pairs = pairs_of(len(sentences))
        self.closest: ClosestPair | None = None
        self._closest_seconds = 0.0

    def warm_up(self) -> None:
        """Let both models compute a little before the clock runs: the first batches of a process are slower."""
        with self._device():
            self._encoder.encode(self.sentences[:WARM_UP])
        with self._device():
            self._cross.score([self._pair(i) for i in range(min(WARM_UP, len(self._pairs)))])

    def run(self, seconds: float) -> Generator[RaceState, None, None]:
        """SBERT's first pass to its end, the cross-encoder for `seconds` of work; then SBERT again, to see the spread."""
        while not self.sbert.passes or self.cross.seconds < seconds:
            if not self.sbert.passes or len(self.sbert.turns) < SBERT_TURNS:
                yield from self._turn(self.sbert)
            if self.cross.seconds < seconds:
                yield from self._turn(self.cross)

    @property
    def state(self) -> RaceState:
        cross = LaneState(self.cross.done, self.all_pairs, self.cross.first_pass, self.cross.rate)
        sbert = LaneState(self.sbert.done, self.sbert.total, self.sbert.first_pass, self.sbert.rate)
        answer = self.sbert.first_pass + self._closest_seconds if self.closest else None
        return RaceState(cross, sbert, self.cross.waited + self.sbert.waited, self.closest, answer)

    def _turn(self, lane: Lane) -> Iterator[RaceState]:
        for _ in lane.turn(TURN_SECONDS):
            if self.sbert.passes and self.closest is None:
                self._find_closest()
            yield self.state

    def _find_closest(self) -> None:
        timed = Lane(1, self._compare, self._device)
        for _ in finish(timed):
            pass
        self._closest_seconds = timed.seconds

    def _compare(self) -> Iterator[int]:
        self.closest = closest_pair(unit_rows(self.embeddings))
        yield 1

    def _encode(self) -> Iterator[int]:
        for rows, vectors in self._encoder.stream(self.sentences):
            self.embeddings[rows] = vectors
            yield len(rows)

    def _score(self) -> Iterator[int]:
        for start in range(0, len(self._pairs), CHUNK):
            pairs = [self._pair(i) for i in range(start, min(start + CHUNK, len(self._pairs)))]
            for rows, _ in self._cross.stream(pairs):
                yield len(rows)

    def _pair(self, i: int) -> Pair:
        row1, row2 = self._pairs[i]
        return self.sentences[row1], self.sentences[row2]


def sample_pairs(sentences: int, most: int, seed: int = 0) -> list[tuple[int, int]]:
    """Different pairs (row1 < row2) in a random order: all of them, or so many drawn at random."""
    random = np.random.default_rng(seed)
    total = pairs_of(sentences)
    if total <= 4 * most:
        row1, row2 = np.triu_indices(sentences, 1)
        chosen = random.permutation(total)[:most]
        return list(zip(row1[chosen].tolist(), row2[chosen].tolist(), strict=True))
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < most:
        drawn = random.integers(0, sentences, (most, 2))
        pairs |= dict.fromkeys((min(pair), max(pair)) for pair in drawn.tolist() if pair[0] != pair[1])
    return list(pairs)[:most]


def product_throughput(dim: int, device: Device) -> Throughput:
    """Pairs a second of the all-pairs step, on random unit vectors: its speed does not depend on what they hold."""
    random = np.random.default_rng(0).standard_normal((PRODUCT_ROWS, dim), dtype=np.float32)
    vectors: Vectors = unit_rows(random)

    def compare() -> Iterator[int]:
        closest_pair(vectors)
        yield pairs_of(PRODUCT_ROWS)

    lane = Lane(pairs_of(PRODUCT_ROWS), compare, device)
    turns: list[Turn] = []
    for _ in range(PRODUCT_TURNS + 1):  # the first is the warm-up
        for _ in finish(lane):
            pass
        turns.append(Turn(lane.total, lane.passes.pop()))
    return Throughput(tuple(turns[1:]))
