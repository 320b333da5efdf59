"""A race beside other work is recognised by the speeds of its turns."""

import json
from contextlib import nullcontext

import pytest

from sbert_app.timing.lane import Lane, finish
from sbert_app.timing.throughput import Throughput, Turn, disturbed, spread


def rates(*values):
    return Throughput(tuple(Turn(9, 0.5, batches) for batches in values))


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
def test_the_fastest_turn_over_the_slowest_without_tiny_ones(batches, seconds, expected):
    assert spread(batches, seconds) == pytest.approx(expected)


def test_turns_of_long_and_of_short_sentences_are_equally_fast():
    assert not disturbed(Throughput((Turn(500, 0.5, 10), Turn(60, 0.5, 10), Turn(61, 0.5, 9))))


def test_a_lane_counts_its_batches():
    lane = Lane(6, lambda: iter([1, 2, 3]), nullcontext)
    for _ in finish(lane):
        pass
    lane.advance()
    assert (lane.throughput().turns[0].batches, lane.throughput().items) == (4, 7)


def test_one_uneven_system_is_enough_and_even_ones_are_not():
    even, uneven = rates(100, 110, 60, 95), rates(100, 110, 49, 95)
    assert disturbed(even, uneven) and disturbed(uneven, even)
    assert not disturbed(even, even)
    assert not disturbed(rates(49, 100, 110, 60, 95))  # its first turn started batches that it did not fetch
    assert json.dumps(disturbed(even)) == "false"
