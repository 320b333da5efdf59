"""How many held-out examples would settle a change that the interval leaves open."""

import math

LEAST_CHANGE = 0.0005  # less is shown as 0.0: no number of examples settles nothing
MOST = 1_000_000
Z_INTERVAL, Z_POWER = 1.96, 0.84  # normal quantiles of 97.5 % and 80 %
UNDEFINED = (-1.0, -1.0, 1.0)


def examples_needed(count: int, change: float, low: float, high: float) -> int | None:
    """About how many examples put zero outside the interval in 80 % of repetitions, if the true change is of this size.

    n = count * ((z(0.975) + z(0.80)) * standard error / change)², the sample size of a two-sided test at 5 % with a power of 80 %
    (Cohen 1988, chapter 2). Approximated: the standard error is the interval's half-width on the side of zero over z(0.975)
    and falls with the square root of the number, and the change is taken as measured. Rounded up to two digits.
    count: the examples that gave this change and its 95 % interval.
    None if the interval excludes zero already, or the change is about zero. Above MOST the number only says "too many".
    """
    if (change, low, high) == UNDEFINED or abs(change) < LEAST_CHANGE or low > 0 or high < 0:
        return None
    half_width = change - low if change > 0 else high - change  # on the side of zero
    needed = count * (half_width / change * (Z_INTERVAL + Z_POWER) / Z_INTERVAL) ** 2
    unit = int(10 ** max(0, math.floor(math.log10(needed)) - 1))
    return math.ceil(needed / unit) * unit


def needed_sentence(needed: int | None, count: int, change: float, noun: str = "pairs") -> str:
    """Say how many held-out examples would settle the change, "" for None."""
    if needed is None:
        return ""
    number = "More than a million" if needed > MOST else f"About {needed:,}"
    size = f"{'gain' if change > 0 else 'loss'} of this size"
    return f"{number} held-out {noun} would show a {size} in 4 of 5 runs; this run has {count:,}."
