"""How many held-out examples would settle a change: the arithmetic, and its limits."""

import numpy as np
import pytest

from sbert_app.evaluation.metrics import MOST, examples_needed, needed_sentence
from sbert_app.evaluation.verdict import judge


@pytest.mark.parametrize(
    ("count", "change", "low", "high", "needed"),
    [
        (80, 0.02, -0.02, 0.06, 660),  # twice the half-width: four times the examples, times (2.80 / 1.96)² = 2.04 for the power
        (80, 0.02, -0.019, 0.09, 630),  # the side of zero counts: 80 * 1.95² * 2.04 = 621.5
        (40, 0.023, -0.002, 0.065, 97),
        (100, -0.01, -0.06, 0.04, 5_200),
        (1_234, 0.01, 0.0, 0.02, 2_600),
        (80, 0.001, -0.5, 0.5, 41_000_000),
        (80, 0.0001, -0.05, 0.05, None),  # about zero
        (80, 0.03, 0.01, 0.05, None),  # settled
        (80, -1.0, -1.0, 1.0, None),  # undefined
    ],
)
def test_the_number_follows_from_interval_and_change(count, change, low, high, needed):
    assert examples_needed(count, change, low, high) == needed


def test_with_that_many_examples_four_of_five_runs_are_settled():
    """Runs on that many other examples, drawn from a population whose true change is known."""
    generator, gold = np.random.default_rng(9), np.zeros(20_000)
    shared = generator.normal(size=20_000)
    before, after = (lead + shared + 0.5 * generator.normal(size=20_000) for lead in (0.9, 1.2))
    true = (after > 0).mean() - (before > 0).mean()

    def difference(count):
        rows = generator.choice(20_000, count, replace=False)
        return judge("triplets", before[rows], after[rows], gold[rows]).changes[0].difference

    half_width = np.median([found.value - found.low for found in (difference(80) for _ in range(25))])
    needed = examples_needed(80, true, true - half_width, true + half_width)
    settled = np.mean([difference(needed).low > 0 for _ in range(100)])
    assert needed > 160 and 0.7 <= settled <= 0.9


def test_the_sentence():
    assert needed_sentence(None, 80, 0.01) == ""
    assert needed_sentence(640, 80, 0.01) == (
        "About 640 held-out pairs would show a gain of this size in 4 of 5 runs; this run has 80."
    )
    assert "a loss of this size" in needed_sentence(640, 80, -0.01, "triplets")
    assert "More than a million held-out pairs" in needed_sentence(MOST + 1, 80, 0.001)
