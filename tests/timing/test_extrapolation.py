"""Rates, bands, disturbance, extrapolation, also of the paper's times, and durations: arithmetic on numbers that are known."""

import pytest

from sbert_app.timing.extrapolation import MOST_SPREAD, Extrapolation, Throughput, Turn, pairs_of, power_law
from sbert_app.timing.report import IN_PAPER
from sbert_app.wording import spoken

YEAR = 365.25 * 86_400  # seconds


def rates(*values):
    return Throughput(tuple(Turn(value, 1.0) for value in values))


def test_one_disturbed_turn_does_not_move_the_rate_and_a_turn_weighs_as_long_as_it_lasted():
    assert rates(100, 102, 98, 101, 5).rate == 100
    assert rates(100, 102, 98, 101, 5).spread == (5, 102)
    assert Throughput((Turn(1, 0.01), Turn(1, 0.01), Turn(50, 1.0))).rate == 50


def test_the_band_holds_the_rate_and_narrows_with_more_turns():
    few, many = rates(*[90, 100, 110] * 2), rates(*[90, 100, 110] * 40)
    for throughput in (few, many):
        low, high = throughput.band
        assert low <= throughput.rate <= high
    assert many.band[1] - many.band[0] < few.band[1] - few.band[0]
    assert few.band == rates(*[90, 100, 110] * 2).band  # seeded
    assert rates(100, 110).band is None


def test_a_faster_rate_means_fewer_seconds_and_estimates_add_up():
    known = rates(90, 100, 100, 110).seconds_for(1_000)
    assert known.seconds == 10
    assert known.low < known.seconds < known.high
    assert known.low == pytest.approx(1_000 / rates(90, 100, 100, 110).band[1])
    assert rates(100).seconds_for(1_000).low is None
    assert Extrapolation(1, 0.5, 2) + Extrapolation(10, 9, 12) == Extrapolation(11, 9.5, 14)
    assert (Extrapolation(1, 0.5, 2) + Extrapolation(10)).low is None


def test_ten_thousand_sentences_take_what_the_paper_says_and_more_grow_with_the_pairs_or_with_the_sentences():
    times = IN_PAPER
    assert [pairs_of(count) for count in (1, 2, 200, 10_000)] == [0, 1, 19_900, 49_995_000]
    assert times.cross_seconds(10_000).seconds == pytest.approx(65 * 3600)
    assert times.sbert_seconds(10_000).seconds == pytest.approx(5.01)
    assert times.cross_seconds(20_000).seconds == pytest.approx(4 * 65 * 3600, rel=1e-3)
    assert times.sbert_seconds(20_000).seconds == pytest.approx(10.04, rel=1e-3)


@pytest.mark.parametrize(("slope", "expected"), [(1, 1.0), (0.5, 0.5), (2, 1.0), (-1, 0.0)])
def test_the_power_law_goes_on_with_the_measured_slope_within_reason(slope, expected):
    sizes = [1_000, 10_000, 30_000]
    seconds = [1e-6 * size**slope for size in sizes]
    assert power_law(sizes, seconds, 3_000_000) == pytest.approx(seconds[-1] * 100**expected, rel=1e-6)


def test_between_measured_points_the_power_law_keeps_to_them_and_below_it_stays():
    sizes, seconds = [1_000, 10_000, 30_000], [2e-5, 6e-4, 2e-3]
    assert [power_law(sizes, seconds, size) for size in sizes] == pytest.approx(seconds)
    assert 2e-5 < power_law(sizes, seconds, 4_000) < 6e-4
    assert power_law(sizes, seconds, 10) == pytest.approx(2e-5)
    assert power_law([1_000], [0.5], 9_000) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.000043, "0.043 milliseconds"), (0.0064, "6.4 milliseconds"), (0.64, "640 milliseconds"), (0.0996, "100 milliseconds"),
        (0.9996, "1.0 seconds"), (7.24, "7.2 seconds"), (59.4, "59 seconds"), (59.7, "60 seconds"), (61, "1 minute 1 second"),
        (3600, "1 hour"), (81_660, "22 hours 41 minutes"), (234_000, "65 hours"), (381_600, "4 days 10 hours"),
        (1.5 * YEAR, "1 year 183 days"), (26.4 * YEAR, "26 years"), (95_123 * YEAR, "95,000 years"),
    ],
)  # fmt: skip
def test_durations_in_words(seconds, words):
    assert spoken(seconds) == words


@pytest.mark.parametrize(
    ("batches", "seconds", "expected"),
    [
        ([100, 104, 98], [0.5, 0.5, 0.5], 104 / 98),
        ([100, 100, 45], [0.5, 0.5, 0.5], 100 / 45),
        ([100, 50], [0.5, 0.25], 1),  # half the work in half the time
        ([100, 100, 1], [0.5, 0.5, 0.05], 1),  # a turn cut off at the end
        ([3], [0.5], 1),
    ],
)
def test_the_fastest_turn_over_the_slowest_without_tiny_ones_and_the_first(batches, seconds, expected):
    first = Turn(9, 0.5, 49)  # started batches that it did not fetch
    turns = [Turn(9, *turn) for turn in zip(seconds, batches, strict=True)]
    assert Throughput((first, *turns)).unevenness == pytest.approx(expected)
    assert Throughput((first,)).unevenness == 1
    long_and_short = Turn(500, 0.5, 10), Turn(60, 0.5, 10), Turn(61, 0.5, 9)
    assert Throughput(long_and_short).unevenness < MOST_SPREAD
