"""How well scores agree with labels: figures as scipy and scikit-learn compute them, thresholds counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap, spearmanr
from sklearn.metrics import average_precision_score

from sbert_app.evaluation.agreement import agreement, best_threshold, disagreements, label_agreement, shortest_between, spearman


@pytest.fixture
def graded():
    random = np.random.default_rng(3)
    gold = random.integers(0, 6, 80).astype(float)
    return gold + random.normal(0, 2, 80), gold


def test_grades_are_measured_as_scipy_does(graded):
    predicted, gold = graded
    found = label_agreement("scored", predicted, gold)
    assert found.estimate.value == pytest.approx(spearmanr(predicted, gold).statistic, abs=1e-9)
    oracle = bootstrap(
        (predicted, gold), lambda x, y: spearmanr(x, y).statistic, paired=True, vectorized=False, n_resamples=2_000,
        method="percentile", rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert (found.estimate.low, found.estimate.high) == pytest.approx(oracle, abs=0.02)
    assert found.threshold is None and found.pairs == 80


def test_pairs_of_one_group_are_resampled_together(graded):
    """Each pair ten times is no more evidence than once."""
    once, often = label_agreement("scored", *graded), [np.repeat(column, 10) for column in graded]
    together = label_agreement("scored", *often, np.repeat(np.arange(80), 10)).estimate
    alone = label_agreement("scored", *often).estimate
    assert (together.low, together.high) == pytest.approx((once.estimate.low, once.estimate.high), abs=0.03)
    assert alone.high - alone.low < 0.5 * (together.high - together.low)


def test_agreement_of_known_lists():
    scores = np.linspace(0, 1, 40, dtype=np.float32)
    same = agreement(scores, scores * 2)
    assert (same.same_first, same.shared, same.top) == (True, 10, 10) and same.spearman == pytest.approx(1)
    turned = agreement(scores, -scores)
    assert (turned.same_first, turned.shared) == (False, 0) and turned.spearman == pytest.approx(-1)


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(-1, 1, width=16)), min_size=4, max_size=40))
def test_two_values_are_measured_as_scikit_learn_does_and_the_threshold_does_what_it_says(points):
    gold, predicted = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    if np.ptp(gold) == 0:
        return
    found = label_agreement("labelled", predicted, gold)
    assert found.estimate.value == pytest.approx(average_precision_score(gold, predicted), abs=1e-9)
    threshold = found.threshold
    everything = [np.mean((predicted >= cut) == gold) for cut in (*predicted, np.inf)]
    assert threshold.accuracy == pytest.approx(max(everything)) == found.measures["accuracy"]
    if threshold.value is not None:
        assert np.mean((predicted >= threshold.value) == gold) == pytest.approx(threshold.accuracy)
    assert threshold.majority == max(gold.mean(), 1 - gold.mean())


def test_a_threshold_has_as_few_decimals_as_separate_the_pairs_and_where_none_helps_there_is_none():
    predicted, gold = np.array([0.9134, 0.7123, 0.42, 0.1]), np.array([1.0, 1, 0, 0])
    assert best_threshold(predicted, gold).value == 0.71 and best_threshold(predicted, gold).helps
    assert shortest_between(0.7112, 0.7116) == 0.7113 or shortest_between(0.7112, 0.7116) == 0.7116
    assert shortest_between(-0.2, -0.1) == -0.1
    useless = best_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 0, 0, 0]))
    assert useless.value is None and useless.majority == useless.accuracy == 0.75 and not useless.helps
    assert best_threshold(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1, 1])).value is None


def test_the_pairs_that_disagree_most_are_those_ranked_apart():
    gold = np.array([0.0, 1, 2, 3, 4, 5])
    predicted = np.array([0.9, 0.2, 0.3, 0.4, 0.5, 0.1])
    high, low = disagreements(predicted, gold, 5)
    assert high.tolist()[0] == 0 and low.tolist() == [5] and spearman(predicted, gold) < 0
    same, different = disagreements(predicted, gold[::-1], 2)
    assert 0 not in same and 5 not in different  # nothing is scored above the highest label
    high, low = disagreements(np.array([0.9, 0.8, 0.2, 0.1]), np.array([1.0, 0, 1, 0]), 5)
    assert high.tolist() == [1] and low.tolist() == [2]
    assert [side.tolist() for side in disagreements(predicted, predicted, 5)] == [[], []]
