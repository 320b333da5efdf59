"""The paper's times, extrapolated."""

import pytest

from sbert_app.timing.report import Published


def test_ten_thousand_sentences_take_what_the_paper_says():
    times = Published()
    assert times.cross_seconds(10_000).seconds == pytest.approx(65 * 3600)
    assert times.sbert_seconds(10_000).seconds == pytest.approx(5.01)


def test_the_cross_encoder_grows_with_the_pairs_and_sbert_with_the_sentences():
    times = Published()
    assert times.cross_seconds(20_000).seconds == pytest.approx(4 * 65 * 3600, rel=1e-3)
    assert times.sbert_seconds(20_000).seconds == pytest.approx(10.04, rel=1e-3)
