"""A scored file of pairs: the score of each row, its agreement with labels, also in words, and the rows that are worth reading."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sbert_app.evaluation.agreement import LabelAgreement, disagreements
from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.explain.scale import WORDS, Scale
from sbert_app.labelled.examples import Reading
from sbert_app.labelled.labels import turned
from sbert_app.labelled.pair_columns import GRADED, PairColumns, PairLabels
from sbert_app.tables import Table
from sbert_app.vectors import Integers, Vectors
from sbert_app.wording import amount, times_100

SCORE_NAMES = ("score", "cosine", "cosine_of_this_app")
MOST_SHOWN = 5  # rows on each side
EXTREMES = "Highest scores", "Lowest scores"


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
    scores: Vectors
    scale: Scale
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
        words = [self.scale.word(score) for score in self.scores.tolist()]
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
        added = [round(scores[row], 4) + 0.0 if row in scores else None for row in self.table.rows.tolist()]
        records: list[Any] = self.table.frame.assign(**{self.score_column: np.array(added, dtype=object)}).to_dict("records")
        return records

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
            "agreement": _agreement(self.labels, self.agreement) if self.labels and self.agreement else None,
            "highest": [asdict(pair) for pair in highest],
            "lowest": [asdict(pair) for pair in lowest],
            "scored_higher_than_labelled": [asdict(pair) for pair in too_high],
            "scored_lower_than_labelled": [asdict(pair) for pair in too_low],
            "seconds": self.seconds,
        }

    def _shown(self, positions: Integers) -> list[ShownPair]:
        examples, cells = self.reading.examples, self.labels.cells if self.labels else [""] * len(self.scores)
        first, second = examples.sentences
        return [ShownPair(int(examples.rows[i]), float(self.scores[i]), cells[i], first[i], second[i]) for i in positions.tolist()]


def _agreement(labels: PairLabels, agreement: LabelAgreement) -> dict[str, Any]:
    threshold = agreement.threshold
    return {
        "in_words": sentence(labels, agreement),
        "pairs": agreement.pairs,
        "left_out": sum(labels.left_out.values()),
        **agreement.measures,
        "low": agreement.estimate.low,
        "high": agreement.estimate.high,
        **({"positive": labels.positive, "threshold": threshold.value, "majority": threshold.majority} if threshold else {}),
    }


def sentence(labels: PairLabels, agreement: LabelAgreement) -> str:
    """The agreement in one sentence, or why there is none."""
    count = amount(agreement.pairs, "labelled pair")
    if agreement.pairs < LEAST_HELD_OUT:
        return f"Too few labels to judge the score: {count}, at least {LEAST_HELD_OUT} are needed."
    value, threshold = agreement.estimate, agreement.threshold
    if labels.kind == GRADED:
        low = "Lower" if turned(labels.column) else "Higher"
        remark = f" {low} labels have lower scores." if value.high < 0 else " It could be chance." if value.low <= 0 else ""
        return (
            f"Agreement with “{labels.column}”: Spearman ×100 is {times_100(value.value)} over {count}, "
            f"95 % interval {times_100(value.low)} to {times_100(value.high)}.{remark}"
        )
    if threshold is None:
        return ""
    if threshold.value is None or not threshold.helps:
        frequent = f"“{labels.positive}”" if labels.gold[labels.labelled].mean() > 0.5 else different(labels)
        right = f"which is right for {percent(threshold.majority)} of {count}."
        return f"No threshold of the score beats calling every pair {frequent}, {right}"
    shortest = f"{threshold.value:.9f}".rstrip("0").rstrip(".").replace("-", "−")  # its last decimal matters
    return (
        f"Calling a pair “{labels.positive}” at {shortest} or higher is right for {percent(threshold.accuracy)} "
        f"of {count}. The threshold was chosen on these same pairs, so expect a little less on others."
    )


def side_titles(labels: PairLabels) -> tuple[str, str]:
    """The titles of the pairs scored too high, and of those scored too low."""
    if labels.kind == GRADED:
        return "Scored higher than labelled", "Scored lower than labelled"
    return f"Highest scores not labelled “{labels.positive}”", f"Lowest scores labelled “{labels.positive}”"


def left_out(labels: PairLabels) -> list[str]:
    """How many rows were scored, but have no label to compare with."""
    left = labels.left_out.items()
    return [f"{amount(count, 'row has', 'rows have')} {reason}: scored, but left out of the agreement." for reason, count in left]


def details(labels: PairLabels, agreement: LabelAgreement) -> str:
    """All figures, and how the labels were read."""
    interval = f"Interval: bootstrap over pairs, {agreement.resamples:,} resamples."
    if labels.kind == GRADED:
        low, high = (f"{bound:g}" for bound in labels.bounds)
        closer = "lower" if turned(labels.column) else "higher"
        return (
            f"Labels from {low} to {high}; {closer} is taken to mean closer. Spearman compares the order of the scores with that "
            f"of the labels: 100 is the same order, 0 is none. Pearson ×100: {times_100(agreement.measures['pearson'])}. {interval}"
        )
    value, share = agreement.estimate, float(labels.gold[labels.labelled].mean())
    figures = [
        f"“{labels.positive}” is taken to mean the same, {different(labels)} to mean different.",
        f"Average precision ×100: {times_100(value.value)}, 95 % interval {times_100(value.low)} to {times_100(value.high)}; "
        f"100 ranks all “{labels.positive}” pairs above the others, a score without information gets {times_100(share)}.",
        f"Best F1 ×100: {times_100(agreement.measures['f1'])}.",
    ]
    if agreement.threshold:
        figures.append(f"Giving every pair the more frequent label is right for {percent(agreement.threshold.majority)}.")
    return " ".join([*figures, interval])


def different(labels: PairLabels) -> str:
    """All labels but the positive one, in quotation marks."""
    return " or ".join(f"“{label}”" for label in labels.others)


def percent(share: float) -> str:
    """A share as per cent without decimals, but never "100 %" for less than all."""
    return f"{min(round(100 * share), 99 if share < 1 else 100)} %"
