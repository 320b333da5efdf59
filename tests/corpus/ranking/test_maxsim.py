"""MaxSim against a loop over tokens; what empty rows must not change; the cache of token vectors."""

import numpy as np
import pytest

from sbert_app.corpus.ranking.maxsim import TokenCache, match
from sbert_app.vectors import unit_rows

RANDOM = np.random.default_rng(3)


def tokens(count: int) -> np.ndarray:
    return unit_rows(RANDOM.normal(size=(count, 16)))


def by_loop(query, weights, row):
    best = [max(float(word @ other) for other in row) for word in query]
    return sum(weight * value for weight, value in zip(weights, best, strict=True)) / sum(weights)


def test_scores_are_the_weighted_means_of_each_tokens_best_match():
    query, weights, rows = tokens(5), np.array([3.0, 0.0, 1.0, 0.5, 2.0]), [tokens(n) for n in (1, 7, 30)]
    matches = match(query, weights, rows)
    assert matches.scores == pytest.approx([by_loop(query, weights, row) for row in rows], abs=1e-5)
    for number, row in enumerate(rows):
        assert matches.tokens[number].tolist() == (query @ row.T).argmax(axis=1).tolist()
    assert match(query, np.zeros(5), rows).scores == pytest.approx(match(query, np.ones(5), rows).scores)  # no weights: equal ones


def test_a_row_without_tokens_scores_0_and_matches_none():
    matches = match(tokens(2), np.ones(2), [tokens(0), tokens(3)])
    assert matches.scores[0] == 0 and matches.tokens[0].tolist() == [-1, -1] and matches.tokens[1].min() >= 0
    assert match(tokens(0), np.ones(0), [tokens(3)]).scores.tolist() == [0]


def test_the_cache_returns_the_same_for_new_and_known_rows_and_computes_once():
    computed, rows = [], {number: tokens(count) for number, count in enumerate((6, 6, 0))}

    def compute(missing):
        computed.append(missing)
        return [rows[number] for number in missing]

    cache = TokenCache()
    first, again = cache.vectors([0, 1, 0], compute), cache.vectors([1, 2, 0], compute)
    assert computed == [[0, 1], [2]]
    assert (first[0] == again[2]).all() and (first[0] == first[2]).all()
    assert np.abs(first[1] - rows[1]).max() < 0.5 / 127 and again[1].shape == (0, 16)


def test_the_cache_drops_the_least_recently_used_rows():
    cache = TokenCache(limit_bytes=2 * (6 * 16 + 6 * 4))
    computed = []

    def compute(missing):
        computed.extend(missing)
        return [tokens(6) for _ in missing]

    for rows in ([0], [1], [0], [2], [0], [1]):
        cache.vectors(rows, compute)
    assert computed == [0, 1, 2, 1] and cache.nbytes <= 240
