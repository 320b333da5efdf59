"""The measures against scipy and scikit-learn, weights against real resampling, words and numbers that follow from intervals."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from sbert_app.evaluation import metrics as weighted
from sbert_app.evaluation.agreement import gains, rank_shares
from sbert_app.evaluation.metrics import MOST, examples_needed, needed_sentence
from sbert_app.evaluation.verdict import BETTER, UNCLEAR, WORSE, judge, measure, predict

GENERATOR = np.random.default_rng(0)
N = 200
SCORES = np.round(GENERATOR.normal(size=N), 1)  # with ties
GRADED = GENERATOR.integers(0, 6, size=N) / 5
BINARY = (SCORES + GENERATOR.normal(size=N) > 0).astype(float)
CLUSTERS = np.where(GENERATOR.random(N) < 0.5, GRADED, GENERATOR.integers(0, 6, size=N) / 5)
ONCE = np.ones((1, N))
DRAWN = GENERATOR.integers(0, N, size=(5, N))
COUNTS = np.stack([np.bincount(row, minlength=N) for row in DRAWN]).astype(float)


def best_over_thresholds(score):
    return max(score(BINARY, threshold <= SCORES) for threshold in (*np.unique(SCORES), np.inf))


@pytest.mark.parametrize(
    ("ours", "gold", "expected"),
    [
        (weighted.pearson, GRADED, stats.pearsonr(SCORES, GRADED)[0]),
        (weighted.spearman, GRADED, stats.spearmanr(SCORES, GRADED)[0]),
        (weighted.average_precision, BINARY, metrics.average_precision_score(BINARY, SCORES)),
        (weighted.best_accuracy, BINARY, best_over_thresholds(metrics.accuracy_score)),
        (weighted.best_f1, BINARY, best_over_thresholds(lambda gold, said: metrics.f1_score(gold, said, zero_division=0))),
    ],
)
def test_measures_equal_the_libraries(ours, gold, expected):
    assert ours(SCORES, gold, ONCE)[0] == pytest.approx(expected, abs=1e-12)


def test_v_measure_is_scikit_learns_and_needs_no_equal_names():
    classes, clusters = ((5 * values).round().astype(int) for values in (GRADED, CLUSTERS))
    expected = [metrics.v_measure_score(classes[row], clusters[row]) for row in DRAWN]
    assert weighted.v_measure(CLUSTERS, GRADED, COUNTS) == pytest.approx(expected, abs=1e-12)
    assert weighted.v_measure(7 - CLUSTERS, GRADED, COUNTS) == pytest.approx(expected, abs=1e-12)
    assert weighted.v_measure(GRADED, GRADED, ONCE)[0] == pytest.approx(1)
    assert weighted.v_measure(np.zeros(N), GRADED, ONCE)[0] == pytest.approx(0)
    assert weighted.v_measure(np.zeros(N), np.zeros(N), ONCE)[0] == 1
    assert weighted.share_equal(CLUSTERS, GRADED, ONCE)[0] == (CLUSTERS == GRADED).mean()


@pytest.mark.parametrize("name", ["pearson", "spearman", "average_precision", "best_accuracy", "best_f1", "share_positive"])
def test_a_weight_is_a_row_drawn_that_often(name):
    metric = getattr(weighted, name)
    gold = GRADED if name in ("pearson", "spearman") else BINARY
    expected = [metric(SCORES[row], gold[row], ONCE)[0] for row in DRAWN]
    assert metric(SCORES, gold, COUNTS) == pytest.approx(expected, abs=1e-12)


def test_words_follow_from_the_interval_of_the_paired_difference():
    noise = np.random.default_rng(2).normal(size=(3, N))
    good, poor = GRADED + 0.1 * noise[0], GRADED + 2 * noise[1]
    assert judge("scored", poor, good, GRADED).word == BETTER
    assert judge("scored", good, poor, GRADED).word == WORSE
    assert judge("scored", poor, GRADED + 2 * noise[2], GRADED).word == UNCLEAR
    change = judge("scored", poor, good, GRADED).changes[0]
    assert change.metric == "spearman" and change.before.low < change.before.value < change.before.high
    assert 0 < change.difference.low < change.difference.value < change.difference.high and change.p <= 0.001


def test_of_many_examples_no_more_are_drawn_at_a_time_than_fit_into_memory(monkeypatch):
    generator, drawn, draw = np.random.default_rng(5), [], weighted.resample_weights
    monkeypatch.setattr(weighted, "resample_weights", lambda *given: drawn.append(given[0] * given[1]) or draw(*given))
    monkeypatch.setattr(weighted, "BLOCK_CELLS", 10 * N)
    good, poor = (GRADED + 0.2 * generator.normal(size=N) for _ in range(2))
    in_blocks = judge("scored", poor, good, GRADED)
    assert max(drawn) == 10 * N and sum(drawn) == 2_000 * N
    monkeypatch.undo()
    assert in_blocks == judge("scored", poor, good, GRADED)
    assert [weighted.resamples_for(count) for count in (10, 20_000, 10**7)] == [2_000, 500, 200]


def test_too_few_examples_or_equal_predictions_prove_nothing():
    assert judge("scored", np.array([0.1, 0.9, 0.2] * 5), np.array([0.1, 0.2, 0.9] * 5), np.array([0, 0.5, 1] * 5)).word == UNCLEAR
    assert measure("scored", np.zeros(5), np.arange(5) / 4)["spearman"] == -1
    assert judge("scored", np.zeros(30), np.zeros(30), np.arange(30) / 29).word == UNCLEAR


def test_predictions_of_each_kind():
    anchor, near, far = np.eye(3, dtype=np.float32)[[0, 0]], np.float32([[1, 1, 0], [1, 0, 0]]), np.eye(3, dtype=np.float32)[[1, 0]]
    assert predict("scored", [anchor, near]) == pytest.approx([np.sqrt(0.5), 1])
    lead = predict("triplets", [anchor, near, far])
    assert lead == pytest.approx([np.sqrt(0.5), 0], abs=1e-6)
    found = predict("positives", [np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[[0, 2, 1]]])
    assert found[0] > 0 and found[1] < 0 and found[2] < 0
    assert measure("positives", found, np.zeros(3)) == {"accuracy_at_1": pytest.approx(1 / 3)}
    twins = predict("positives", [np.eye(2, dtype=np.float32)[[0, 0]], np.eye(2, dtype=np.float32)[[0, 0]]])
    assert (twins > 0).all()  # a partner with the very same text is no rival


def test_movers_towards_the_gold_value_gain():
    gold = np.array([0.0, 0.5, 1.0])
    gained = gains("scored", np.array([0.9, 0.5, 0.1]), np.array([0.1, 0.5, 0.9]), gold)
    assert gained.tolist() == [1, 0, 1]
    assert gains("triplets", np.array([-0.2]), np.array([0.3]), np.zeros(1)) == pytest.approx([0.5])
    assert rank_shares(np.array([3.0, 1.0, 1.0])).tolist() == [1, 0.25, 0.25]


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


def test_the_number_is_told():
    sentence = "About 640 held-out pairs would show a gain of this size in 4 of 5 runs; this run has 80."
    assert needed_sentence(640, 80, 0.01) == sentence and needed_sentence(None, 80, 0.01) == ""
    assert "a loss of this size" in needed_sentence(640, 80, -0.01, "triplets")
    assert "More than a million held-out pairs" in needed_sentence(MOST + 1, 80, 0.001)


def test_with_that_many_examples_four_of_five_runs_are_settled(monkeypatch):
    """Runs on that many other examples, drawn from a population whose true change is known."""
    monkeypatch.setattr(weighted, "RESAMPLES", 500)  # nearly all of the time is theirs
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
