"""Which pair is asked next, and what the answers say of all candidates, on candidates with known answers, without a model."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.labelling import estimates
from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE, NO, UNSURE, YES, Answer
from sbert_app.labelling.choosing import APART, STRATA, Candidates, boundary, next_question
from sbert_app.labelling.estimates import estimate

SIMULATIONS = 40  # more were run once: docs/evaluation.md


def world(rate: float, seed: int, count: int = 8_000) -> tuple[Candidates, np.ndarray]:
    """Pairs of which this share is the same, more often the higher their cosine; and which of them are."""
    random = np.random.default_rng(seed)
    scores = random.beta(5, 4, count).astype(np.float32)
    middles = np.linspace(-1, 2, 3_001)
    chances = 1 / (1 + np.exp(-15 * (np.quantile(scores, np.linspace(0, 1, 201))[:, None] - middles)))
    middle = middles[np.abs(chances.mean(axis=0) - rate).argmin()]
    same = random.random(count) < 1 / (1 + np.exp(-15 * (scores - middle)))
    strata = np.digitize(scores, np.linspace(scores.min(), scores.max(), STRATA + 1)[1:-1])
    rows, measured = np.arange(count), np.arange(count) % 2 == 0
    return Candidates(rows, rows + count, scores, random.random(count), measured, strata), same


def answered(pairs: Candidates, same: np.ndarray, count: int, seed: int = 0) -> list[Answer]:
    """The answers of a person who is always right, to the questions as they come, until `count` are to measure by."""
    answers: list[Answer] = []
    while sum(answer.why == MEASURE for answer in answers) < count:
        asked = next_question(pairs, answers, seed=seed)
        assert asked is not None
        label = YES if same[asked.place] else NO
        answers.append(
            Answer(f"a{asked.place}", f"b{asked.place}", label, 0, 0, "", 1.0, asked.why, asked.probability, asked.place)
        )
    return answers


def test_both_kinds_are_asked_in_turns_and_one_in_twenty_comes_again_after_twenty_others():
    pairs, same = world(0.3, 0)
    answers = answered(pairs, same, 100)
    counts = Counter(answer.why for answer in answers)
    assert abs(counts[LEARN] - counts[MEASURE]) <= 1 and counts[AGAIN] == (len(answers) - 1) // 20 - 1
    first = {}
    for number, answer in enumerate(answers):
        assert number - first.setdefault(answer.place, number) in (0, *range(20, 1_000))
        assert (answer.why == AGAIN) == (first[answer.place] != number)


def test_to_measure_by_are_pairs_of_every_stratum_at_random_and_none_of_the_others():
    pairs, same = world(0.1, 3)
    asked = [answer for answer in answered(pairs, same, 160) if answer.why == MEASURE]
    assert all(pairs.measured[answer.place] for answer in asked)
    size = np.bincount(pairs.strata[pairs.measured])
    in_strata = np.bincount(pairs.strata[[answer.place for answer in asked]], minlength=len(size))
    assert all(count == all_there or in_strata.max() - count <= 1 for count, all_there in zip(in_strata, size, strict=True))
    assert asked[0].probability == 1 / size[pairs.strata[asked[0].place]]


def test_pairs_to_learn_from_lie_around_the_boundary_on_other_rows_than_just_before():
    pairs, same = world(0.1, 4)
    shared = replace(pairs, rows1=pairs.rows1 // 40, rows2=1_000 + pairs.rows2 // 40)  # each row is in many pairs
    answers = answered(shared, same, 60)
    learnt = [answer.place for answer in answers if answer.why == LEARN]
    middle = boundary(pairs, answers)
    spread = np.abs(pairs.scores - middle).mean()
    assert np.abs(pairs.scores[learnt[20::2]] - middle).mean() < 0.8 * spread
    for end, answer in enumerate(answers):
        if answer.why == LEARN:
            before = [a.place for a in answers[max(0, end - APART) : end]]
            assert shared.rows1[answer.place] not in shared.rows1[before] and shared.rows2[answer.place] not in shared.rows2[before]


def test_what_a_person_could_not_say_is_not_asked_again_at_once_and_all_pairs_come_to_an_end():
    pairs, same = world(0.3, 5, 60)
    answers = []
    while (asked := next_question(pairs, answers)) is not None:
        answers.append(replace(answered(pairs, same, 1)[0], place=asked.place, why=asked.why, label=UNSURE))
        assert len(answers) < 100
    assert {answer.place for answer in answers} == set(range(60))


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.4])
def test_the_intervals_hold_the_truth(rate, monkeypatch):
    monkeypatch.setattr(estimates, "DRAWS", 250)  # most of the time is theirs
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


def test_where_no_answer_below_the_threshold_is_the_same_all_may_have_been_found():
    for seed in range(3):
        pairs, _ = world(0.01, seed)
        same = pairs.scores >= np.quantile(pairs.scores, 0.99)
        at = estimate(pairs, answered(pairs, same, 100, seed)).best
        assert (pairs.scores[same] >= at.threshold).all() and at.recall_within[1] > 0.995
        assert at.recall_within[0] < 0.3 < at.recall  # and many may not


def test_many_answers_settle_it_and_err_to_neither_side(monkeypatch):
    monkeypatch.setattr(estimates, "DRAWS", 250)
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
