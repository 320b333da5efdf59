"""How many held-out examples would settle a change: the arithmetic, and its limits."""

import numpy as np
import pytest

from sbert_app.evaluation.needed import MOST, examples_needed, needed_sentence
from sbert_app.evaluation.verdict import BETTER, UNCLEAR, judge


@pytest.mark.parametrize(
    ("count", "change", "low", "high", "needed"),
    [
        (80, 0.02, -0.02, 0.06, 320),  # twice the half-width: four times the examples
        (80, 0.02, -0.019, 0.09, 310),  # the side of zero counts: 80 * 1.95² = 304.2
        (100, -0.01, -0.06, 0.04, 2_500),
        (1_234, 0.01, 0.0, 0.02, 1_300),
        (80, 0.001, -0.5, 0.5, 21_000_000),
        (80, 0.0001, -0.05, 0.05, None),  # about zero
        (80, 0.03, 0.01, 0.05, None),  # settled
        (80, -1.0, -1.0, 1.0, None),  # undefined
    ],
)
def test_the_number_follows_from_interval_and_change(count, change, low, high, needed):
    assert examples_needed(count, change, low, high) == needed


def test_that_many_examples_settle_it():
    """The same examples several times over keep the change, and narrow its interval as other examples would."""
    generator = np.random.default_rng(9)
    gold = generator.normal(size=60)
    before, after = gold + 1.3 * generator.normal(size=60), gold + 1.0 * generator.normal(size=60)

    def verdict(times):
        return judge("scored", *(np.tile(values, times) for values in (before, after, gold)))

    first = verdict(1)
    change = first.changes[0].difference
    needed = examples_needed(60, change.value, change.low, change.high)
    assert first.word == UNCLEAR and needed > 120
    assert verdict(int(np.ceil(1.3 * needed / 60))).word == BETTER
    assert verdict(int(0.7 * needed / 60)).word == UNCLEAR


def test_the_sentence():
    assert needed_sentence(None, 80, 0.01) == ""
    assert needed_sentence(640, 80, 0.01) == (
        "To settle a gain of this size, you would need about 640 held-out pairs; this run has 80."
    )
    assert "a loss of this size" in needed_sentence(640, 80, -0.01, "triplets")
    assert "more than a million held-out pairs" in needed_sentence(MOST + 1, 80, 0.001)
