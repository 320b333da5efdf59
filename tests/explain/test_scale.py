import numpy as np
import pytest

from sbert_app.explain.cautions import LANGUAGE, NEGATION, NUMBERS, ORDER
from sbert_app.explain.scale import WORDS, Calibration, References, Scale


def scale(random, related, paraphrases):
    scores = [np.sort(np.array(values, dtype=np.float32)) for values in (random, related, paraphrases)]
    return Scale(Calibration("notes.csv", scores[0]), References(scores[1], scores[2], scores[1]))


@pytest.fixture
def usual():
    return scale([-0.1, 0.0, 0.1, 0.2, 0.3], [0.3, 0.4, 0.5, 0.6, 0.7], [0.8, 0.85, 0.9, 0.95, 1.0])


def test_the_marks_are_medians(usual):
    assert [(m.name, round(m.score, 2), m.pairs) for m in usual.marks] == [
        ("random", 0.1, 5),
        ("related", 0.5, 5),
        ("paraphrase", 0.9, 5),
    ]


@pytest.mark.parametrize(("score", "word"), [(0.95, 0), (0.75, 1), (0.5, 2), (0.35, 3), (0.1, 4), (-0.3, 4), (1.0, 0)])
def test_a_score_has_a_word(usual, score, word):
    assert usual.word(score) == WORDS[word]


def test_words_never_rise_while_the_score_falls(usual):
    odd = scale([0.7, 0.8, 0.9], [0.1, 0.2, 0.3], [0.15, 0.2, 0.25])  # an untrained model: everything is alike
    for one in (usual, odd):
        order = [WORDS.index(one.word(score)) for score in np.linspace(1, -1, 101)]
        assert order == sorted(order)


@pytest.mark.parametrize("kind", [NEGATION, NUMBERS, ORDER])
def test_what_may_contradict_does_not_mean_the_same(usual, kind):
    assert usual.verdict(0.95, [kind]) == "Close in topic" and usual.verdict(0.1, [kind]) == "Unrelated"
    assert usual.verdict(0.95, []) == "Same meaning" and usual.verdict(0.95, [LANGUAGE]) == "Uncertain"


def test_the_sentence_has_word_and_place(usual):
    assert usual.sentence(0.25) == "Unrelated: higher than 80.0 % of random pairs of notes.csv"
