"""Read one cell as a number, a date or a time of day: all values that it can be, by the conventions in which they are written."""

import calendar
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

Readings = Mapping[str, float]  # by convention, "" where there is only one way to read the cell

POINT, COMMA = "decimal point", "decimal comma"
PAIRS = ((POINT, COMMA), ("day/month", "month/day"), ("day-month", "month-day"), ("day/month/yy", "month/day/yy"))
OPPOSITE = dict(PAIRS) | {second: first for first, second in PAIRS}
DECIMALS = {
    POINT: re.compile(r"[-+]?(?=[\d.])(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)?(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE),
    COMMA: re.compile(r"[-+]?(?=[\d,])(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)?(?:,\d+)?(?:e[-+]?\d+)?", re.IGNORECASE),
}
UNIT = re.compile(r"[€$£¥%]|\b(?:EUR|USD|GBP|CHF)\b")  # of an amount of money, or a share
GROUPED = re.compile(r"(?<=\d)[\u00a0\u202f'’](?=\d{3}(?!\d))")  # thousands as in France and Switzerland
MOST_DIGITS = 15  # of a whole number: longer ones are ids, which a float does not tell apart
INFINITY = re.compile(r"[-+]?inf(inity)?", re.IGNORECASE)
PART_OF_DATE = re.compile(r"(\d{4})(?:-(\d{2}))?")  # "2026", "2026-03"
YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[ T]+(.+))?")
YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:,?[ T]+(.+))?")
MONTHS = (
    "jan(?:uary)? feb(?:ruary)? mar(?:ch)? apr(?:il)? may june? july? aug(?:ust)? sept?(?:ember)? oct(?:ober)? nov(?:ember)? "
    "dec(?:ember)?"
).split()
WITH_NAMES = re.compile(  # Mar 1, 2025 · Sat, 01 March 2025 08:05:33 +0000 · 01/Mar/25 8:05 AM
    rf"(?:[a-z]{{3,9}}, ?)?(?:(\d{{1,2}})[ /-])?({'|'.join(MONTHS)})\.?[ /-](?:(\d{{1,2}}),? )?(\d{{4}}|\d\d)(?:,? (?:at )?(.+))?",
    re.IGNORECASE,
)
YEAR_AT_END = re.compile(r"[a-z]{3} ([a-z]{3} \d\d?) (\d\d:\d\d:\d\d)(?: ([-+]\d{4}|[A-Z]{3,4}))? (\d{4})", re.IGNORECASE)
MOMENT = re.compile(r"1\d{9}(?:\d{3})?|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")  # 1740816333, 20250301
MAY_BE_VERSION = re.compile(r"(?!\d\d\.\d\d)\d{1,2}\.\d{1,2}\.\d\d")  # or a date: 1.2.10
CENTURY = 69  # a year of two digits below it is of the 2000s, as in POSIX
ZONE = re.compile(r"(.*?)[ ]?(?:UTC|GMT|Z|[A-Z]{2,4}T)?(?:[ ]?([-+])(\d\d?)(?::?(\d\d))?)?")  # that of a name is not read
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.IGNORECASE)
SECONDS, MILLISECONDS, DAY_DIGITS = 10, 13, 8  # digits of a moment since 1970, and of 20260305
DAY, INSTANT = 86_400.0, 1e-6  # seconds


def _numbers(text: str) -> Readings:
    text = GROUPED.sub("", UNIT.sub("", text, count=1)).strip()
    if text.isdecimal() and len(text) > MOST_DIGITS:
        return {}
    if INFINITY.fullmatch(text):
        return {"": float(text)}
    plain = {POINT: text.replace(",", ""), COMMA: text.replace(".", "").replace(",", ".")}
    return {mark: float(plain[mark]) for mark, pattern in DECIMALS.items() if pattern.fullmatch(text)}


def _dates(text: str) -> Readings:
    """Seconds since 1970, in UTC where the cell names no time zone."""
    if text.isdecimal() and len(text) in (SECONDS, MILLISECONDS):
        return {"": int(text) / (1000 if len(text) == MILLISECONDS else 1)}
    if match := PART_OF_DATE.fullmatch(text):
        return _moments({"": (match[1], match[2] or "1", "1")}, "")
    if match := YEAR_FIRST.fullmatch(text):
        year, _, month, day, clock = match.groups()
        if moments := _moments({"": (year, month, day)}, clock or ""):
            return moments
    at_end = YEAR_AT_END.fullmatch(text)
    if match := WITH_NAMES.fullmatch(at_end.expand(r"\1 \4 \2 \3").strip() if at_end else text):
        before, month, after, year, clock = match.groups()
        if bool(before) != bool(after):
            number = str(1 + [name[:3] for name in MONTHS].index(month[:3].lower()))
            return _moments({"": (_whole(year), number, before or after)}, clock or "")
    if match := YEAR_LAST.fullmatch(text):
        first, sign, second, year, clock = match.groups()
        of_two = ""
        if len(year) == len("yy"):
            if sign == "-":
                return {}  # may begin with the year
            year, of_two = _whole(year), "/yy"
        day_first, month_first = (year, second, first), (year, first, second)
        orders = {"": day_first} if sign == "." else {f"day{sign}month{of_two}": day_first, f"month{sign}day{of_two}": month_first}
        return _moments(orders, clock or "")
    if text[:4].isdecimal() and (not text.isdecimal() or len(text) == DAY_DIGITS):
        with suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(text)
            return {"": (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()}
    return {}


def _whole(year: str) -> str:
    return str(int(year) + (2000 if int(year) < CENTURY else 1900)) if len(year) == len("yy") else year


def _moments(orders: Mapping[str, tuple[str, str, str]], clock: str) -> Readings:
    """Year, month and day by convention as seconds since 1970, without those that the calendar does not have."""
    zone = ZONE.fullmatch(clock)
    clock, sign, hours, minutes = zone.groups("0") if zone else (clock, "", "0", "0")
    seconds = _times(clock) if clock else {"": 0.0}
    ahead = 60 * (60 * int(hours) + int(minutes)) * (-1 if sign == "-" else 1)
    readings = {}
    for convention, parts in orders.items() if seconds else ():
        with suppress(ValueError):
            year, month, day = map(int, parts)
            readings[convention] = datetime(year, month, day, tzinfo=UTC).timestamp() + seconds[""] - ahead
    return readings


def _times(text: str) -> Readings:
    """Seconds since midnight."""
    if not (match := CLOCK.fullmatch(text)):
        return {}
    hour, minute, second, half = int(match[1]), int(match[2]), float(match[3] or 0), (match[4] or "").lower()
    if minute > 59 or second >= 60 or hour > (12 if half else 23) or (half and not hour):
        return {}
    return {"": 3600 * (hour % 12 + 12 * (half == "p") if half else hour) + 60 * minute + second}


def last_moment(text: str, moment: float) -> float:
    """The end of the year, month or day that a bound names; a moment is its own end."""
    if match := PART_OF_DATE.fullmatch(text):
        year, month = int(match[1]), int(match[2] or 12)
        moment = datetime(year, month, calendar.monthrange(year, month)[1], tzinfo=UTC).timestamp()
    elif ":" in text or (text.isdecimal() and len(text) != DAY_DIGITS):
        return moment
    return moment + DAY - INSTANT


# A column gets the kind that reads most of its filled cells; on a tie the first.
KINDS: dict[str, Callable[[str], Readings]] = {"number": _numbers, "date": _dates, "time": _times}
