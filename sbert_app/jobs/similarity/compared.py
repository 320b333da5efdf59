"""What a comparison gives: of two sentences score, percentile and explanation; of two lists all scores."""

from dataclasses import dataclass

import numpy as np

from sbert_app.explain.attribution import Attribution
from sbert_app.explain.scale import Scale
from sbert_app.models.files.trained_for import Bounds
from sbert_app.vectors import Vectors


@dataclass(frozen=True)
class ModelScore:
    """Another model's score of the same two sentences: a cross-encoder's score or another encoder's cosine.

    `milliseconds` are those of the model alone, without waiting. A cross-encoder has no scale, but `trained_for` and `bounds`: the
    lowest and the highest score, None for logits.
    """

    model: str
    score: float
    milliseconds: float
    kind: str = "encoder"
    trained_for: str = ""
    bounds: Bounds | None = None
    in_words: str = ""
    scale: Scale | None = None


@dataclass(frozen=True)
class Comparison:
    """Two sentences compared. `score` and `poolings` are cosines, `word_overlap` is 0..1, `percentile` 0..100."""

    sentences: tuple[str, str]
    score: float
    in_words: str  # such as "Close in topic: higher than 99.1 % of random pairs of field_notes.csv"
    cautions: tuple[str, ...]  # what the score does not tell, one sentence each
    scale: Scale | None
    percentile: float | None  # of the random pairs, those that score lower
    calibrated_on: str  # the corpus of the random pairs
    pooling: str
    poolings: dict[str, float]
    word_overlap: float
    attribution: Attribution | None
    notes: tuple[str, ...]
    milliseconds: float  # of the whole comparison
    encode_milliseconds: float  # of both sentences, part of `milliseconds`
    waited: float  # milliseconds of waiting for the device, not part of `milliseconds`
    cross_encoder: ModelScore | None = None
    other: ModelScore | None = None


@dataclass(frozen=True)
class ListComparison:
    """Scores of two lists: scores[i, j] is the cosine of sentences1[i] and sentences2[j]."""

    sentences1: list[str]
    sentences2: list[str]
    scores: Vectors
    milliseconds: float

    def best(self, count: int) -> list[tuple[float, str, str]]:
        """The closest pairs, best first."""
        order = np.argsort(-self.scores, axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(order, self.scores.shape)
        cells = zip(rows.tolist(), columns.tolist(), strict=True)
        return [(float(self.scores[i, j]), self.sentences1[i], self.sentences2[j]) for i, j in cells]
