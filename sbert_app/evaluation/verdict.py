"""Compare a model before and after training on the same held-out examples, with intervals and a paired test.

columns: one (n, dim) array of embeddings per sentence column. gold: (n,), 0..1, higher means closer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.evaluation import metrics
from sbert_app.vectors import COSINE, Array, Similarity, Vectors
from sbert_app.wording import change_100, times_100

LEAST_HELD_OUT = 20  # rows; fewer never give a verdict

BETTER, UNCLEAR, WORSE = "better", "no clear change", "worse: do not use it"

METRICS: dict[str, dict[str, metrics.Metric]] = {  # the first one of each kind decides the verdict
    "scored": {"spearman": metrics.spearman, "pearson": metrics.pearson},
    "labelled": {"average_precision": metrics.average_precision, "accuracy": metrics.best_accuracy, "f1": metrics.best_f1},
    "triplets": {"triplet_accuracy": metrics.share_positive},
    "positives": {"accuracy_at_1": metrics.share_positive},
    "clusters": {"v_measure": metrics.v_measure, "accuracy": metrics.share_equal},
}


@dataclass(frozen=True)
class Change:
    """A metric before and after. `difference`: after minus before on the same resamples; `p`: two-sided, paired."""

    metric: str
    before: metrics.MetricEstimate
    after: metrics.MetricEstimate
    difference: metrics.MetricEstimate
    p: float

    @property
    def sides(self) -> list[str]:
        """The values before and after, × 100, as texts."""
        return [times_100(side.value) for side in (self.before, self.after)]

    @property
    def interval(self) -> list[str]:
        """The difference and the ends of its interval, × 100, as texts."""
        return [change_100(value) for value in (self.difference.value, self.difference.low, self.difference.high)]


@dataclass(frozen=True)
class Verdict:
    """`word`: "better" or "worse" only if the first change's interval excludes zero, for LEAST_HELD_OUT examples or more."""

    word: str
    changes: tuple[Change, ...]
    examples: int


def predict(kind: str, columns: Sequence[Vectors], similarity: Similarity = COSINE) -> Array:
    """Predicted score of each example, (n,), higher is closer: the similarity; for triplets, that of (a, p) minus that of (a, n).

    positives: the similarity to the right partner minus the highest to any other; above zero means that it is found first.
    """
    anchor, *others = columns
    if kind == "positives":
        scores = similarity.all(anchor, others[0])
        partner = scores.diagonal().copy()
        same = np.isclose(scores, partner[:, None], rtol=0, atol=1e-9)  # the partner, and others with the same text
        return partner - np.where(same, -np.inf, scores).max(1, initial=-1.0)
    first, *second = [similarity.pairs(anchor, other) for other in others]
    return first - second[0] if kind == "triplets" else first


def primary_metric(kind: str, columns: Sequence[Vectors], gold: Array, similarity: Similarity = COSINE) -> float:
    """The metric that decides the verdict, for these embeddings; -1 if undefined (all scores equal)."""
    return measure(kind, predict(kind, columns, similarity), gold)[next(iter(METRICS[kind]))]


def measure(kind: str, predicted: Array, gold: Array) -> dict[str, float]:
    """All metrics of the kind, as fractions; -1 if undefined."""
    ones = np.ones((1, len(gold)))
    values = {name: float(metric(predicted, gold, ones)[0]) for name, metric in METRICS[kind].items()}
    return {name: value if np.isfinite(value) else -1.0 for name, value in values.items()}


def judge(kind: str, before: Array, after: Array, gold: Array) -> Verdict:
    """Compare predictions for the same n examples by a paired bootstrap: both use the same resamples."""

    def both(_: Array, gold: Array, weights: Array) -> Array:
        """Each metric before and after, (R, metrics, 2)."""
        values = [[metric(predicted, gold, weights) for predicted in (before, after)] for metric in METRICS[kind].values()]
        return np.array(values).transpose(2, 0, 1)

    count, changes = len(gold), []
    values = both(before, gold, np.ones((1, count)))[0]
    samples = metrics.resampled(both, before, gold, np.arange(count)).transpose(1, 2, 0)
    for name, value, drawn in zip(METRICS[kind], values, samples, strict=True):
        first, second = map(metrics.interval, value, drawn)
        difference = drawn[1] - drawn[0]
        changes.append(Change(name, first, second, metrics.interval(value[1] - value[0], difference), _p(difference)))
    decisive = changes[0].difference
    word = BETTER if decisive.low > 0 else WORSE if decisive.high < 0 else UNCLEAR
    return Verdict(word if count >= LEAST_HELD_OUT else UNCLEAR, tuple(changes), count)


def _p(difference: Array) -> float:
    """Two-sided p: twice the share of resamples with the other sign, at least one over their number."""
    samples = difference[np.isfinite(difference)]
    if not len(samples):
        return 1.0
    tail = min((samples <= 0).mean(), (samples >= 0).mean())
    return float(min(1.0, max(2 * tail, 1 / len(samples))))
