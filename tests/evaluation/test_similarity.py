"""The loss of a draft, on arrays whose loss is known."""

import numpy as np
import pytest

from sbert_app.evaluation.similarity import DraftLoss, draft_loss

CIRCLE = np.array([[np.cos(angle), np.sin(angle)] for angle in np.linspace(0, 3, 13)], np.float32)


def test_equal_embeddings_lose_nothing_whatever_their_lengths():
    loss = draft_loss(CIRCLE, 3 * CIRCLE)
    assert loss == DraftLoss(13, pytest.approx(1, abs=1e-6), pytest.approx(1, abs=1e-6), 10, 10.0)


def test_one_turned_vector_is_the_least_cosine_and_changes_neighbours():
    turned = CIRCLE.copy()
    turned[0] = -turned[0]
    loss = draft_loss(CIRCLE, turned)
    assert loss.least_cosine == pytest.approx(-1) and loss.mean_cosine == pytest.approx(11 / 13)
    assert 9 < loss.same_neighbours < 10


def test_neighbours_are_counted_without_the_row_itself():
    full = np.eye(4, dtype=np.float32) + np.array([[0, 0.9, 0, 0], [0.9, 0, 0, 0], [0, 0, 0, 0.9], [0, 0, 0.9, 0]], np.float32)
    loss = draft_loss(full, full[::-1].copy())
    assert (loss.nearest, loss.same_neighbours) == (3, 3.0)  # all three others, in any order
    assert draft_loss(full[:1], full[:1]) == DraftLoss(1, pytest.approx(1), pytest.approx(1), 0, 0.0)


def test_inputs_stay_as_they_are():
    full, draft = 2 * CIRCLE, 2 * CIRCLE
    draft_loss(full, draft)
    np.testing.assert_array_equal(full, draft)
    np.testing.assert_array_equal(full, 2 * CIRCLE)


def test_in_words():
    words = str(DraftLoss(200, 0.9871, 0.9312, 10, 8.94))
    assert words == (
        "measured on 200 sentences: cosine to the full model 0.987 on average, 0.931 at least; "
        "of the 10 nearest neighbours within them, 8.9 are the same"
    )
    assert (
        str(DraftLoss(1, 1.0, 1.0, 0, 0.0)) == "measured on 1 sentence: cosine to the full model 1.000 on average, 1.000 at least"
    )
