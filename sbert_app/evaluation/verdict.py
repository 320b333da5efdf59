"""Did it get better? Before and after on the same held-out examples, with intervals and a paired test.

Knows embeddings only. columns: one (n, dim) array a sentence column; gold: (n,) 0..1, higher is meant to be closer.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation import weighted
from sbert_app.evaluation.weighted import Array, Metric
from sbert_app.vectors import Vectors, unit_rows

RESAMPLES = 2_000
CONFIDENCE = 0.95
LEAST_HELD_OUT = 20  # fewer rows than this prove nothing

BETTER, UNCLEAR, WORSE = "better", "no clear change", "worse: do not use it"

# The first of each kind decides.
METRICS: dict[str, dict[str, Metric]] = {
    "scored": {"spearman": weighted.spearman, "pearson": weighted.pearson},
    "labelled": {"average_precision": weighted.average_precision, "accuracy": weighted.best_accuracy, "f1": weighted.best_f1},
    "triplets": {"triplet_accuracy": weighted.share_positive},
    "positives": {"accuracy_at_1": weighted.share_positive},
}


@dataclass(frozen=True)
class Estimate:
    """A measured value with its 95 % bootstrap interval, as fractions."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Change:
    """One measure before and after. `difference` is after minus before on the same resamples; `p` two-sided, paired."""

    metric: str
    before: Estimate
    after: Estimate
    difference: Estimate
    p: float


@dataclass(frozen=True)
class Verdict:
    """`word` follows from the first change: better or worse only where the interval of the difference leaves zero out."""

    word: str
    changes: tuple[Change, ...]
    examples: int


def predict(kind: str, columns: Sequence[Vectors]) -> Array:
    """What the embeddings say of each example, (n,), higher is closer: a cosine, or for triplets the positive's lead.

    positives: the lead of the right partner before the nearest of all others, so above zero means found first.
    """
    anchor, *others = (unit_rows(column).astype(np.float64) for column in columns)
    if kind == "positives":
        scores = anchor @ others[0].T
        own = scores.diagonal().copy()
        same = np.isclose(scores, own[:, None], rtol=0, atol=1e-9)  # itself, and partners with the very same text
        lead: Array = own - np.where(same, -np.inf, scores).max(1, initial=-1.0)
        return lead
    cosines: list[Array] = [np.einsum("nd,nd->n", anchor, other) for other in others]
    return cosines[0] - cosines[1] if kind == "triplets" else cosines[0]


def primary_metric(kind: str, columns: Sequence[Vectors], gold: Array) -> float:
    """The measure that decides, for these embeddings; -1 where it is not defined (all cosines equal)."""
    return measure(kind, predict(kind, columns), gold)[next(iter(METRICS[kind]))]


def measure(kind: str, predicted: Array, gold: Array) -> dict[str, float]:
    """Every measure of the kind, as fractions; -1 where it is not defined."""
    once = np.ones((1, len(gold)))
    values = {name: float(metric(predicted, gold, once)[0]) for name, metric in METRICS[kind].items()}
    return {name: value if np.isfinite(value) else -1.0 for name, value in values.items()}


def judge(kind: str, before: Array, after: Array, gold: Array, seed: int = 0) -> Verdict:
    """Compare two predictions of the same n examples by a paired bootstrap: both models see the same resamples."""
    count = len(gold)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(np.float64)
    once = np.ones((1, count))
    changes = []
    for name, metric in METRICS[kind].items():
        values = [metric(side, gold, once)[0] for side in (before, after)]
        spread = [metric(side, gold, weights) for side in (before, after)]
        estimates = [_estimate(value, drawn) for value, drawn in zip(values, spread, strict=True)]
        difference = spread[1] - spread[0]
        changes.append(Change(name, estimates[0], estimates[1], _estimate(values[1] - values[0], difference), _p(difference)))
    return Verdict(_word(changes[0], count), tuple(changes), count)


def _word(change: Change, count: int) -> str:
    if count >= LEAST_HELD_OUT and change.difference.low > 0:
        return BETTER
    return WORSE if count >= LEAST_HELD_OUT and change.difference.high < 0 else UNCLEAR


def _estimate(value: float, drawn: Array) -> Estimate:
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or not len(drawn):
        return Estimate(-1.0, -1.0, 1.0)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(value), float(low), float(high))


def _p(difference: NDArray[np.float64]) -> float:
    """Two-sided: how often resampling turns the sign round. Never below one over the number of resamples."""
    drawn = difference[np.isfinite(difference)]
    if not len(drawn):
        return 1.0
    tail = min((drawn <= 0).mean(), (drawn >= 0).mean())
    return float(min(1.0, max(2 * tail, 1 / len(drawn))))
