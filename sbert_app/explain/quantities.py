"""Read the numbers of an English sentence, with units, clock times, days and months, and find those that differ between two."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen""".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL = {word: float(value) for value, word in enumerate(ONES)} | {word: 20.0 + 10 * i for i, word in enumerate(TENS)}
ORDINALS = {word: float(i) for i, word in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1)}
MAGNITUDES = {"hundred": 1e2, "dozen": 12.0} | dict.fromkeys(("thousand", "k"), 1e3) | dict.fromkeys(("million", "mil", "mln"), 1e6)
MAGNITUDES |= dict.fromkeys(("billion", "bil", "bn", "b"), 1e9)
UNITS = {  # unit -> (dimension, factor); units of one dimension are compared after conversion
    unit: (dimension, factor)
    for dimension, factors in {
        "time": {
            "second": 1.0, "sec": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "hr": 3600.0, "day": 86400.0, "week": 604800.0,
        },
        "months": {"month": 1.0, "year": 12.0},
        "length": {
            "mm": 0.001, "cm": 0.01, "inch": 0.0254, "foot": 0.3048, "feet": 0.3048, "metre": 1.0, "meter": 1.0, "km": 1000.0,
            "kilometre": 1000.0, "kilometer": 1000.0, "mile": 1609.344,
        },
        "mass": {"g": 1.0, "gram": 1.0, "kg": 1000.0, "kilo": 1000.0, "kilogram": 1000.0, "tonne": 1e6},
        "volume": {"ml": 0.001, "cl": 0.01, "l": 1.0, "litre": 1.0, "liter": 1.0},
        "bytes": {"mb": 1.0, "gb": 1000.0, "tb": 1e6},
        "share": {"%": 1.0, "percent": 1.0, "pct": 1.0},
        "dollars": {"$": 1.0, "dollar": 1.0}, "euros": {"€": 1.0, "euro": 1.0}, "pounds": {"£": 1.0, "pound": 1.0},
        "celsius": {"°c": 1.0}, "fahrenheit": {"°f": 1.0},
    }.items() for unit, factor in factors.items()
}  # fmt: skip
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = "january february april june july august september october november december".split()  # "may" and "march" are verbs too
BEFORE_DATE = {*MONTHS, *"may march jan feb mar apr jun jul aug sep sept oct nov dec".split()}
DAYS = ("yesterday", "today", "tomorrow")
NAMES = {name: kind for kind, names in (("weekday", WEEKDAYS), ("month", MONTHS), ("day", DAYS)) for name in names}
CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))?\s?([ap])\.?m\b\.?|\b(\d{1,2}):(\d\d)\b")
TIMES, DECIMAL_COMMA = re.compile(r"(?<=\d) ?[x×] ?(?=\d)"), re.compile(r"(?<![\d.,])(\d+),(\d\d?)(?![.,]?\d)")
# A number glued to letters is part of a name, such as E27 or A4; one glued to "m" is metres, minutes or millions.
CODE = re.compile(r"([a-z]*)(\d+(?:\.\d+)?)(m?)")
TOKEN = re.compile(
    r"(?<![\w.])\d+(?:st|nd|rd|th)\b|(?<![\w.,])(?:[a-z]+\d+|\d+(?:\.\d+)?m)(?!\w|\.\d)|"
    r"(?<![a-z0-9.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\d*m\b)|per cent|°[cf]|[$€£%]|[a-z]+"
)
ROUNDED = 0.03  # share: 30 miles and 48 km are the same
SIGNED = {"share", "dollars", "euros", "pounds"}  # units that are rarely left out
DETERMINERS = {"the", "a", "my", "your", "his", "her", "its", "our", "their"}  # before "first" and "second" as ordinals
# "one" counts nothing in "no one", "this one", "one of".
BEFORE_PRONOUN, AFTER_PRONOUN = {"no", "any", "every", "some", "this", "that", "which", "another", "each", "the"}, {"of", "another"}


@dataclass(frozen=True)
class Quantity:
    """A number or date as written. `dimension` is "" without a unit; `converted` is the value in its dimension's basic unit."""

    kind: str  # "number", "number of e" in E27, "year", "ordinal", "clock", "weekday", "month" or "day"
    value: float
    dimension: str
    converted: float
    text: str

    def equals(self, other: "Quantity") -> bool:
        """Whether both mean the same amount. A missing unit fits any."""
        if self.dimension and other.dimension:
            same_unit = self.converted * other.value == other.converted * self.value
            tolerance = 1e-6 if same_unit else ROUNDED
            return self.dimension == other.dimension and abs(self.converted - other.converted) <= tolerance * abs(self.converted)
        return self.value == other.value

    def competes_with(self, other: "Quantity") -> bool:
        """Whether both could count the same thing: not a year and a number of people, not dollars and per cent."""
        missing = {self.dimension, other.dimension} - SIGNED if not (self.dimension and other.dimension) else set()
        same = self.dimension == other.dimension or len(missing) == 2
        return self.kind == other.kind and (same or self.value == other.value)


def differing(sentence1: str, sentence2: str) -> tuple[Quantity, Quantity] | None:
    """The first quantity of each sentence that the other contradicts. None if one's quantities are all in the other."""
    first, second = list(quantities(sentence1)), list(quantities(sentence2))
    only_first, only_second = _missing(first, second), _missing(second, first)
    return next(((a, b) for a in only_first for b in only_second if a.competes_with(b)), None)


def _missing(these: list[Quantity], others: list[Quantity]) -> list[Quantity]:
    """Those that the others do not have. A number without a unit is one with a unit only where it is no other number already."""

    def there(quantity: Quantity, among: list[Quantity]) -> bool:
        return any(quantity.dimension == other.dimension and quantity.equals(other) for other in among)

    free = [other for other in others if not there(other, these)]
    return [each for each in these if not there(each, others) and not any(map(each.equals, free))]


def quantities(sentence: str) -> Iterator[Quantity]:
    """The numbers and dates of a sentence: clock times first, the others in order."""
    text = DECIMAL_COMMA.sub(r"\1.\2", TIMES.sub(" x ", sentence.lower()))
    for match in CLOCK.finditer(text):
        yield _clock(match)
    tokens = [*TOKEN.findall(CLOCK.sub(" ", text)), ""]  # so that a token has one before it and one after it
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in NAMES:
            shown = token if NAMES[token] == "day" else token.capitalize()
            yield Quantity(NAMES[token], float(list(NAMES).index(token)), "", 0.0, shown)
        elif (token in ORDINALS and tokens[position - 1] in DETERMINERS) or re.fullmatch(r"\d+(st|nd|rd|th)", token):
            yield Quantity("ordinal", ORDINALS.get(token) or float(token[:-2]), "", 0.0, token)
        elif (code := CODE.fullmatch(token)) and (letters := code[1] + code[3]):
            written = re.search(token, sentence, re.IGNORECASE)
            yield Quantity(f"number of {letters}", float(code[2]), "", 0.0, written[0] if written else token)
        elif length := _number_length(tokens, position):
            yield _number(tokens, position, length)
            position += length - 1
        position += 1


def _clock(match: re.Match[str]) -> Quantity:
    """A time of day in minutes. Without am or pm both halves of the day are possible, so the value is within one half."""
    hour, minute, half = match[1] or match[4], match[2] or match[5] or "0", match[3]
    minutes = float(int(hour) % 12 * 60 + int(minute))
    dimension = "" if half is None and int(hour) <= 12 else "pm" if half == "p" or int(hour) > 12 else "am"
    return Quantity("clock", minutes, dimension, minutes, match[0].strip())


def _number_length(tokens: list[str], position: int) -> int:
    """How many tokens from here make one number, 0 if none: "250", "twenty five", "3.5 million", "two hundred and fifty"."""
    first = tokens[position]
    pronoun = first == "one" and (tokens[position - 1] in BEFORE_PRONOUN or tokens[position + 1] in AFTER_PRONOUN)
    if pronoun or not (first[:1].isdigit() or first in SMALL):
        return 0
    end = position + 1
    while True:
        last = tokens[end - 1]
        large = last in ("hundred", "thousand")
        following = end + 1 if large and tokens[end] == "and" else end
        word = tokens[following]
        if not (word in MAGNITUDES or (word in SMALL and (large or (last in TENS and word in ONES[1:10])))):
            return end - position
        end = following + 1


def _number(tokens: list[str], position: int, length: int) -> Quantity:
    """The number of `length` tokens from here, with the unit after it or the currency sign before it."""
    words, before, after = tokens[position : position + length], tokens[position - 1], tokens[position + length]
    after = "percent" if after == "per cent" else after
    sign = before if before in ("$", "€", "£") else ""
    unit = sign or next((unit for unit in (after, after.removesuffix("s")) if unit in UNITS), "")
    dimension, factor = UNITS.get(unit, ("", 1.0))
    value, written = _value(words), " ".join(words)
    shown = f"{sign}{written}" if sign or not unit else f"{written}{after}" if unit == "%" else f"{written} {after}"
    is_year = not unit and re.fullmatch(r"(1[89]|20)\d\d", written) is not None
    kind = "date" if before in BEFORE_DATE and not unit else "year" if is_year else "number"
    return Quantity(kind, value, dimension, value * factor, shown)


def _value(words: list[str]) -> float:
    """Such as 250 of "two hundred and fifty"."""
    total = current = 0.0
    for word in words:
        if (magnitude := MAGNITUDES.get(word, 0.0)) > 100:
            total, current = total + current * magnitude, 0.0
        elif magnitude:
            current *= magnitude
        elif word != "and":
            current += SMALL[word] if word in SMALL else float(word.replace(",", ""))
    return total + current
