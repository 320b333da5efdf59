"""A race on screen and in its exported page: each time is rounded once, and a disturbed race is called so."""

import re
from dataclasses import replace

import pytest

from sbert_app.timing.extrapolation import DISTURBED, Throughput, Turn
from sbert_app.timing.race import LaneState, RaceState
from sbert_app.timing.report import figures, in_lines
from sbert_app.timing.result import ClosestPair, Conditions, FoundPair, TimingResult
from sbert_app.ui.timing import race_view, view
from tests.timing.test_extrapolation import rates

CONDITIONS = Conditions(
    corpus="own.csv", sentences=40, encoder="a", cross_encoder="b", head_trained=True, same_backbone=True, machine="2 cores",
    hardware="cpu", max_tokens=(256, 512), date="2026-11-22",
)  # fmt: skip


ANSWER = FoundPair(ClosestPair(0, 1, 0.9, 1), "one", "two", 0.934)
RESULT = TimingResult(
    rates(80, 84, 82, 86), rates(800, 820, 810, 800), rates(10**6), conditions=CONDITIONS, answer=ANSWER, encode_one=0.005234
)


def test_a_time_is_rounded_in_one_way_everywhere():
    lanes = LaneState(50, 780, 1.234, 80), LaneState(40, 40, 0.9, 800)
    progress = race_view.progress(RaceState(*lanes, 0.0, ANSWER, timing=RESULT), ended=True)
    numbers, page = view.numbers(RESULT), view.page(RESULT, 1_000, None)
    for markup in (progress, view.agreement(RESULT), numbers, page):
        assert "934 milliseconds" in markup
        assert not re.search(r"0\.93|5\.23", re.sub(r'href="data:[^"]*"|<script.*?</script>', "", markup, flags=re.DOTALL))
    assert "1.2 seconds" in progress and "5.2 milliseconds" in numbers
    assert "<b>82</b>" in progress and "82 pairs/s" in numbers  # the median of the turns
    assert "5 s" in numbers  # the paper's own
    assert '"displayModeBar": false' in page  # plotly's buttons would lie over its chart


def test_a_disturbed_race_is_called_so_in_words_numbers_page_and_summary():
    uneven = replace(RESULT, cross=Throughput((Turn(9, 0.5, 1), Turn(40, 0.5, 8), Turn(42, 0.5, 3))))
    assert uneven.summary(1_000)["disturbed"] is True and RESULT.summary(1_000)["disturbed"] is False
    spreads = {figure.what: figure.value for figure in figures(uneven) if "slowest" in figure.what}
    assert spreads["Cross-encoder, fastest turn ÷ slowest turn"] == pytest.approx(8 / 3)
    for race, times in ((uneven, 1), (RESULT, 0)):
        assert view.in_words(race, 1_000).count(DISTURBED) == times
        assert view.numbers(race).count(DISTURBED) == times
        assert view.page(race, 1_000, None).count(DISTURBED) == 2 * times
        assert (DISTURBED in in_lines(race, 1_000)) == bool(times)
