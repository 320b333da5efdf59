"""Score all pairs of a few sentences by both systems: to check the extrapolation, and whether both agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.timing.lane import Device, Lane, finish
from sbert_app.vectors import Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder, Pair
    from sbert_app.models.encoder import Encoder

FIRST_SIZES = (10, 30)
SBERT_PASSES = 3


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


class SmallRuns:
    """`run` yields after each batch; `results` holds one run per size, the largest last."""

    def __init__(self, encoder: "Encoder", cross: "CrossEncoder", device: Device) -> None:
        self._encoder, self._cross, self._device = encoder, cross, device
        self.results: list[SmallRun] = []

    def run(self, sentences: Sequence[str], sizes: Sequence[int]) -> Iterator[None]:
        for size in sizes:
            yield from self._both(sentences[:size])

    def _both(self, sentences: Sequence[str]) -> Iterator[None]:
        pairs = list(combinations(sentences, 2))
        cosines, scores = np.empty(len(pairs), dtype=np.float32), np.empty(len(pairs), dtype=np.float32)

        def embed() -> Iterator[int]:
            embeddings = unit_rows(self._encoder.encode(sentences))
            cosines[:] = (embeddings @ embeddings.T)[np.triu_indices(len(sentences), 1)]
            yield len(sentences)

        def score() -> Iterator[int]:
            for rows, values in self._cross.stream(pairs):
                scores[rows] = values[:, 0]
                yield len(rows)

        sbert, cross = Lane(len(sentences), embed, self._device), Lane(len(pairs), score, self._device)
        yield from finish(sbert, SBERT_PASSES)
        yield from finish(cross)
        closest = pairs[int(cosines.argmax())], pairs[int(scores.argmax())]
        self.results.append(SmallRun(len(sentences), median(sbert.passes), cross.first_pass, cosines, scores, *closest))
