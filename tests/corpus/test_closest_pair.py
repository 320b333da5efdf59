"""The most similar pair equals brute force, whatever the block."""

import numpy as np
import pytest

from sbert_app.corpus import mining
from sbert_app.vectors import unit_rows


def vectors(count, seed=0):
    return unit_rows(np.random.default_rng(seed).standard_normal((count, 16), dtype=np.float32))


@pytest.mark.parametrize("count", [2, 3, 40, 41])
@pytest.mark.parametrize("block", [1, 7, 40, 1_000])
def test_equals_brute_force(count, block, monkeypatch):
    monkeypatch.setattr(mining, "BLOCK", block)
    rows = vectors(count, seed=count)
    scores = np.triu(rows @ rows.T, 1) + np.tril(np.full((count, count), -2.0))
    found = mining.closest_pair(rows)
    assert (found.row1, found.row2) == np.unravel_index(scores.argmax(), scores.shape)
    assert found.score == pytest.approx(scores.max(), abs=1e-6)
    assert found.ties == 1


def test_of_equal_pairs_the_first_is_given_and_all_are_counted(monkeypatch):
    monkeypatch.setattr(mining, "BLOCK", 4)
    rows = vectors(20)
    rows[[3, 9, 15]] = rows[9]
    found = mining.closest_pair(rows)
    assert (found.row1, found.row2, found.ties) == (3, 9, 3)


def test_a_pair_needs_two_rows():
    with pytest.raises(ValueError, match="two rows"):
        mining.closest_pair(vectors(1))
