"""Precision and recall of all candidates, from answers to some of them."""

import numpy as np
import pytest

from sbert_app.labelling.answers import LEARN, MEASURE
from sbert_app.labelling.estimates import estimate
from tests.labelling.worlds import answered, world

SIMULATIONS = 40  # 200 of each rate were run once: 93.5 to 96.5 of 100 intervals held the truth with 200 answers


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.4])
def test_the_intervals_hold_the_truth(rate):
    held = []
    for seed in range(SIMULATIONS):
        pairs, same = world(rate, seed, 4_000)
        made = estimate(pairs, answered(pairs, same, 120, seed))
        if made is None:  # no pair was the same
            continue
        at = made.best
        called = pairs.scores >= at.threshold
        truth = [(same[called].mean(), at.precision_within), ((same & called).sum() / same.sum(), at.recall_within)]
        held += [low <= value <= high for value, (low, high) in truth]
    assert len(held) > SIMULATIONS and np.mean(held) >= 0.88  # of 80: 95 % less two standard errors and a half


def test_many_answers_settle_it_and_err_to_neither_side():
    errors = []
    for seed in range(5):
        pairs, same = world(0.3, seed)
        answers = answered(pairs, same, 500)
        many, few = estimate(pairs, answers), estimate(pairs, answers[:80])
        called = pairs.scores >= many.best.threshold
        truth = same[called].mean(), (same & called).sum() / same.sum()
        errors.append([many.best.precision - truth[0], many.best.recall - truth[1]])
        assert many.missing == 0 < few.missing and many.same + many.other == 500
        precise = many.precise(0.9)
        assert precise.precision >= 0.9 and precise.threshold > many.best.threshold
        assert same[pairs.scores >= precise.threshold].mean() > 0.75
    assert np.abs(errors).max() < 0.12 and np.abs(np.mean(errors, axis=0)).max() < 0.04


def test_only_pairs_to_measure_by_count_and_both_kinds_are_needed():
    pairs, same = world(0.3, 2)
    answers = answered(pairs, same, 60)
    learnt = [answer for answer in answers if answer.why == LEARN]
    assert learnt and estimate(pairs, learnt) is None
    assert estimate(pairs, [answer for answer in answers if answer.same]) is None
    whole, measured = estimate(pairs, answers), estimate(pairs, [answer for answer in answers if answer.why == MEASURE])
    assert whole == measured
