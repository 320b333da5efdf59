"""How long a job takes yet is told when that is known."""

import pytest

from sbert_app.step import Step


@pytest.mark.parametrize(
    ("step", "left"),
    [
        (Step("", 5, 36_000, seconds=8.0), ""),  # too few to know the rate
        (Step("", 400, 36_000, seconds=8.0), "11 min 52 s left"),
        (Step("", 30_000, 36_000, seconds=8.0, skipped=29_990), ""),  # most came from the cache
        (Step("", 2_000, 10**7, seconds=2.0), "2 h 46 min left"),
        (Step("", 1, 50, seconds=2.0), "1 min 38 s left"),
        (Step("", 50, 50, seconds=2.0), ""),
        (Step("", 20, 50), ""),
    ],
)
def test_the_time_that_is_left_is_told_once_the_rate_is_known(step, left):
    assert step.left == left
