"""A scored file of pairs: the score of each row, its agreement with labels, and the rows that are worth reading."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.agreement import LabelAgreement, disagreements
from sbert_app.explain.scale import WORDS, Scale
from sbert_app.labelled import agreement_wording as wording
from sbert_app.labelled.examples import Reading
from sbert_app.labelled.pair_columns import PairColumns, PairLabels
from sbert_app.tables import Table

SCORE_NAMES = ("score", "cosine", "cosine_of_this_app")
MOST_SHOWN = 5  # rows on each side


@dataclass(frozen=True)
class ShownPair:
    """A row worth reading. `row`: its number in the file; label: "" without labels."""

    row: int
    score: float
    label: str
    sentence1: str
    sentence2: str


@dataclass(frozen=True)
class ScoredPairs:
    """A table of pairs and the cosine of each usable row. `reading.examples` holds those rows; `scores`: (n,)."""

    table: Table
    reading: Reading
    scores: NDArray[np.float32]
    scale: Scale | None
    model: str
    seconds: float
    labels: PairLabels | None = None  # of the usable rows
    agreement: LabelAgreement | None = None

    @property
    def columns(self) -> PairColumns:
        first, second = self.reading.mapping.sentences
        return PairColumns(first, second, self.labels.column if self.labels else "")

    @property
    def score_column(self) -> str:
        """The name of the added column: the first of SCORE_NAMES that the file does not use."""
        return next((name for name in SCORE_NAMES if name not in self.table.frame.columns), SCORE_NAMES[-1] + "_")

    def words(self) -> dict[str, int]:
        """How many pairs each of the scale's words has."""
        words = [self.scale.word(score) for score in self.scores.tolist()] if self.scale else []
        return {word: words.count(word) for word in WORDS} if words else {}

    def extremes(self) -> tuple[list[ShownPair], list[ShownPair]]:
        """The pairs of the highest and of the lowest scores, the most extreme first; no pair is in both."""
        order = np.argsort(-self.scores, kind="stable")
        highest = order[:MOST_SHOWN]
        return self._shown(highest), self._shown(order[len(highest) :][::-1][:MOST_SHOWN])

    def disagreeing(self) -> tuple[list[ShownPair], list[ShownPair]]:
        """The pairs scored higher than labelled, and those scored lower, the worst first. Empty without labels."""
        if self.labels is None or self.agreement is None:
            return [], []
        labelled = self.labels.labelled
        sides = disagreements(self.scores[labelled].astype(np.float64), self.labels.gold[labelled], MOST_SHOWN)
        high, low = (self._shown(labelled[side]) for side in sides)
        return high, low

    def records(self) -> list[dict[str, Any]]:
        """The file's rows with the score added, 4 decimals; None for a row that was skipped."""
        scores = dict(zip(self.reading.examples.rows.tolist(), self.scores.tolist(), strict=True))
        columns = [self.table.frame[column].tolist() for column in self.table.frame.columns]
        names = [*self.table.frame.columns, self.score_column]
        rows = zip(*columns, strict=True)
        return [
            dict(zip(names, [*cells, round(scores[row], 4) + 0.0 if row in scores else None], strict=True))
            for row, cells in zip(self.table.rows.tolist(), rows, strict=True)
        ]

    def summary(self) -> dict[str, Any]:
        """The result as plain JSON, without the scores of all rows."""
        highest, lowest = self.extremes()
        too_high, too_low = self.disagreeing()
        return {
            "rows": len(self.table.rows),
            "scored": len(self.scores),
            "columns": asdict(self.columns),
            "model": self.model,
            "in_words": self.words(),
            "agreement": _agreement(self.labels, self.agreement),
            "highest": [asdict(pair) for pair in highest],
            "lowest": [asdict(pair) for pair in lowest],
            "scored_higher_than_labelled": [asdict(pair) for pair in too_high],
            "scored_lower_than_labelled": [asdict(pair) for pair in too_low],
            "seconds": self.seconds,
        }

    def _shown(self, positions: NDArray[np.int64]) -> list[ShownPair]:
        examples, cells = self.reading.examples, self.labels.cells if self.labels else None
        first, second = examples.sentences
        return [
            ShownPair(int(examples.rows[i]), float(self.scores[i]), cells[i] if cells else "", first[i], second[i])
            for i in positions.tolist()
        ]


def _agreement(labels: PairLabels | None, agreement: LabelAgreement | None) -> dict[str, Any] | None:
    if labels is None or agreement is None:
        return None
    threshold = agreement.threshold
    return {
        "in_words": wording.sentence(labels, agreement),
        "pairs": agreement.pairs,
        "left_out": sum(labels.left_out.values()),
        **agreement.measures,
        "low": agreement.estimate.low,
        "high": agreement.estimate.high,
        **({"positive": labels.positive, "threshold": threshold.value, "majority": threshold.majority} if threshold else {}),
    }
