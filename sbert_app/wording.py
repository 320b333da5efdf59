"""Texts: durations, counts and row numbers for people ("65 hours", not "234,000 s"), and what any text may hold."""

from collections.abc import Sequence
from itertools import pairwise

UNITS = (("year", 365.25 * 86400), ("day", 86400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))
MOST_HOURS = 100  # then days: 65 hours is how the paper's figure is known


def spoken(seconds: float) -> str:
    """Write out a duration in at most two units: "0.4 milliseconds", "7.2 seconds", "22 hours 41 minutes", "26 years"."""
    if seconds < 0.9995:
        value = seconds * 1e3
        return f"{value:.0f} milliseconds" if value >= 9.95 else f"{value:.2g} milliseconds"
    if seconds < 10:
        return f"{seconds:.1f} seconds"
    for (name, length), (smaller, step) in pairwise(UNITS):
        if seconds >= (MOST_HOURS * step if name == "day" else length):
            count, remainder = divmod(round(seconds / step), round(length / step))
            if name == "year" and count >= 10:
                return f"{round(count, 2 - len(str(count))):,} years"  # an extrapolation is not more precise
            return " ".join(filter(None, (amount(count, name), amount(remainder, smaller) if remainder else "")))
    return f"{seconds:.0f} seconds"


def digits(value: float) -> str:
    """Write a number with at least three digits: "1,234", "85.3", "0.91"."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Format a duration with short units: "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, remainder = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {remainder} s" if minutes else f"{remainder} s"


def row_text(row: int | str) -> str:
    """A row after the word "row": its number, or its name where it has one, such as "17 of b.csv"."""
    return f"{row:,}" if isinstance(row, int) else row


def row_list(rows: Sequence[int | str], most: int = 10) -> str:
    """List rows: "row 4", "rows 4, 9, 12", "rows 1, 2, 3 … and 40 more"."""
    listed = ", ".join(row_text(row) for row in rows[:most])
    more = f" … and {len(rows) - most:,} more" if len(rows) > most else ""
    return f"{plural(len(rows), 'row', 'rows')} {listed}{more}"


def plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many


def amount(count: int, one: str, many: str = "") -> str:
    """A number and what it counts: "1 row", "2,000 rows", "3 exact copies". many: of a noun whose plural is not with -s."""
    return f"{count:,} {plural(count, one, many or f'{one}s')}"


def few(names: Sequence[str], most: int = 4) -> list[str]:
    """Names of columns; of many the first, and how many others there are: "25 more columns"."""
    return [*names] if len(names) <= most else [*names[: most - 1], f"{len(names) - most + 1:,} more columns"]


def short(text: str, most: int) -> str:
    """A text cut to `most` characters, the last of which is then "…"."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def rounded(value: float, digits: int = 3) -> str:
    """Format a number with this many decimals; a zero has no sign."""
    return f"{value:z.{digits}f}"


def times_100(value: float) -> str:
    """Write a share or a correlation times 100: "82.4", "−3.1"; a zero has no sign."""
    return rounded(100 * value, 1).replace("-", "−")


def change_100(value: float) -> str:
    """Write a change of such a value: "+4.0", "−3.1"."""
    return f"{100 * value:+z.1f}".replace("-", "−")


def storable(text: str) -> str:
    """Remove NUL characters and replace lone surrogates, which neither tokenisers nor files accept."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
