"""How many held-out examples would settle a change that the interval leaves open."""

import math

LEAST_CHANGE = 0.0005  # less is shown as 0.0: no number of examples settles nothing
MOST = 1_000_000
UNDEFINED = (-1.0, -1.0, 1.0)


def examples_needed(count: int, change: float, low: float, high: float) -> int | None:
    """About how many examples would put zero outside the interval, if a change of this size is real; rounded up to two digits.

    count: the examples that gave this change and its 95 % interval, whose width falls with the square root of their number.
    None if the interval excludes zero already, or the change is about zero. Above MOST the number only says "too many".
    """
    if (change, low, high) == UNDEFINED or abs(change) < LEAST_CHANGE or low > 0 or high < 0:
        return None
    half_width = change - low if change > 0 else high - change  # on the side of zero
    needed = count * (half_width / change) ** 2
    unit = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / unit) * unit


def needed_sentence(needed: int | None, count: int, change: float, noun: str = "pairs") -> str:
    """Say how many held-out examples would settle the change, "" for None."""
    if needed is None:
        return ""
    number = "more than a million" if needed > MOST else f"about {needed:,}"
    size = f"{'gain' if change > 0 else 'loss'} of this size"
    return f"To settle a {size}, you would need {number} held-out {noun}; this run has {count:,}."
