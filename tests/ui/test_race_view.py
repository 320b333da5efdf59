"""A race on screen and in its exported page: each time is rounded once, and a disturbed race is called so."""

import re
from dataclasses import replace

import pytest

from sbert_app.timing.extrapolation import DISTURBED, Throughput, Turn
from sbert_app.timing.race import LaneState, RaceState
from sbert_app.timing.report import figures, in_lines
from sbert_app.timing.result import ClosestPair, Conditions, FoundPair, TimingResult
from sbert_app.ui.timing import race_view, view
from sbert_app.ui.timing.view import page

CONDITIONS = Conditions(
    corpus="own.csv", sentences=40, encoder="a", cross_encoder="b", head_trained=True, same_backbone=True, machine="2 cores",
    hardware="cpu", max_tokens=(256, 512), date="2026-11-22",
)  # fmt: skip
ANSWER_SECONDS = 0.934


def rates(*values):
    return Throughput(tuple(Turn(value, 0.5) for value in values))


@pytest.fixture
def result():
    pair = ClosestPair(0, 1, 0.9, 1)
    answer = FoundPair(pair, "one", "two", ANSWER_SECONDS)
    product = rates(10**6)
    return TimingResult(
        rates(40, 42, 41, 43), rates(400, 410, 405, 400), product, conditions=CONDITIONS, answer=answer, encode_one=0.005234
    )


def lanes(result):
    lanes = LaneState(50, 780, 1.234, 80), LaneState(40, 40, 0.9, 800)
    state = RaceState(*lanes, 0.0, result.answer, timing=result)
    return race_view.progress(state, ended=True)


def test_a_time_is_rounded_in_one_way_everywhere(result):
    shown = [lanes(result), view.agreement(result), view.numbers(result)]
    shown.append(page(result, 1_000, None))
    for markup in shown:
        assert "934 milliseconds" in markup
        assert not re.search(r"0\.93|5\.23", re.sub(r'href="data:[^"]*"|<script.*?</script>', "", markup, flags=re.DOTALL))
    assert "1.2 seconds" in shown[0] and "5.2 milliseconds" in shown[2]
    assert "<b>82</b>" in shown[0] and "82 pairs/s" in shown[2]  # the median of the turns
    assert "5 s" in shown[2]  # the paper's own


def test_a_disturbed_race_is_called_so_in_words_numbers_page_and_summary(result):
    uneven = replace(result, cross=Throughput((Turn(9, 0.5, 1), Turn(40, 0.5, 8), Turn(42, 0.5, 3))))
    assert uneven.summary(1_000)["disturbed"] is True and result.summary(1_000)["disturbed"] is False
    spreads = {figure.what: figure.value for figure in figures(uneven) if "slowest" in figure.what}
    assert spreads["Cross-encoder, fastest turn ÷ slowest turn"] == pytest.approx(8 / 3)
    for race, times in ((uneven, 1), (result, 0)):
        assert view.in_words(race, 1_000).count(DISTURBED) == times
        assert view.numbers(race).count(DISTURBED) == times
        assert page(race, 1_000, None).count(DISTURBED) == 2 * times
        assert (DISTURBED in in_lines(race, 1_000)) == bool(times)


def test_the_kept_page_has_no_buttons_of_plotly_over_its_chart(result):
    assert '"displayModeBar": false' in page(result, 1_000, None)
