"""Which pair is asked next."""

from collections import Counter
from dataclasses import replace

import numpy as np

from sbert_app.labelling.answers import AGAIN, LEARN, MEASURE, UNSURE
from sbert_app.labelling.choosing import APART, boundary, next_question
from tests.labelling.worlds import answered, world


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
