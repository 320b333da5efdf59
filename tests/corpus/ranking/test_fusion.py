"""Fusion by scores: against scipy, and where there is nothing to measure."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import zscore

from sbert_app.corpus.ranking.fusion import hybrid, z_scores
from sbert_app.corpus.ranking.lexical import LexicalIndex

NUMBERS = st.lists(st.integers(-100, 100), min_size=2, max_size=20).filter(lambda values: len(set(values)) > 1)


@given(NUMBERS)
def test_z_scores_are_those_of_scipy(values):
    assert z_scores(np.array(values)) == pytest.approx(zscore(values))


@pytest.mark.parametrize("values", [[], [3.0], [2.0, 2.0, 2.0]])
def test_equal_scores_decide_nothing(values):
    assert z_scores(np.array(values)).tolist() == [0.0] * len(values)


def test_each_kind_counts_by_how_far_it_stands_out_whatever_its_unit_and_not_where_it_finds_nothing():
    cosines, words = np.array([0.50, 0.51, 0.52]), np.array([30.0, 0.0, 0.0])
    ranked = [hybrid(np.arange(3), cosines.__getitem__, found, 1.0)[0].tolist() for found in (0 * words, words, 1000 * words)]
    assert ranked == [[2, 1, 0], [2, 0, 1], [2, 0, 1]]


TEXTS = ["the red bicycle is rusty", "a bike with pedals", "a red car", "a red house", "a red door", "nothing here"]


def test_one_common_word_does_not_outweigh_meaning_and_a_rare_one_does():
    index, cosines = LexicalIndex.build(TEXTS), np.array([0.3, 0.6, 0.1, 0.1, 0.1, 0.0])
    ranked = {}
    for query in ("red two-wheeler for cycling downhill", "rusty bicycle"):
        words = index.scores(query)
        ranked[query] = hybrid(np.arange(6), cosines.__getitem__, words, index.coverage(query, words))[0].tolist()
    assert ranked["red two-wheeler for cycling downhill"][0] == 1 and ranked["rusty bicycle"][0] == 0
    assert all(sorted(rows) == list(range(6)) for rows in ranked.values())


def test_coverage_is_0_without_words_and_1_at_most():
    index = LexicalIndex.build(TEXTS)
    for query in ("to be or not to be", "zebra", ""):
        assert index.coverage(query, index.scores(query)) == 0
    coverages = [index.coverage(query, index.scores(query)) for query in ("red bicycle", "red bicycle zebra giraffe")]
    assert 0 < coverages[1] < 0.6 < coverages[0] <= 1
