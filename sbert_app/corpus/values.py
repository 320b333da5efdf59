"""Read the cells of a column as numbers, dates or times of day, each in its own form, and count those that are not read.

A cell that could be two values, such as 03/04/2025 or 1.234, is read as the unmistakable cells of its column are written. Where
these differ, or where there are none, it is not read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.cell_reading import COMMA, KINDS, MAY_BE_VERSION, MOMENT, OPPOSITE, POINT, Readings, last_moment
from sbert_app.errors import UserError
from sbert_app.vectors import Array
from sbert_app.wording import amount

SCALE_SHARE, SURE_SHARE = 0.5, 0.95  # of the filled cells must be of one kind; must be dates where 1.2.10 is one, not a version
BLANKS = frozenset(("", "-", "–", "—", "n/a", "na", "nan", "nat", "none", "null"))
# States of a cell. CONTRARY: a value, but not in the convention of its scale, which was chosen by other cells.
VALUE, BLANK, UNREADABLE, UNCLEAR, CONTRARY = range(5)
FORMER = {  # scales of collections that earlier versions made
    "numbers": f"number, {POINT}",
    "decimal commas": f"number, {COMMA}",
    "ISO dates": "date",
    "day.month.year": "date",
    "day/month/year": "date, day/month",
    "month/day/year": "date, month/day",
}


@dataclass(frozen=True)
class Values:
    """The cells of a column, (n,), on one axis: `values` (NaN for none; dates and times in seconds) and `states`."""

    scale: str
    cells: "pd.Series[str]"
    values: Array
    states: NDArray[np.int8]

    @property
    def unread(self) -> "Unread":
        examples = {int(state): str(self.cells.iloc[int(np.argmax(self.states == state))]) for state in np.unique(self.states)}
        counts = {state: int((self.states == state).sum()) for state in examples}
        return Unread(str(self.cells.name), self.scale, counts, examples)


@dataclass(frozen=True)
class Unread:
    """How many cells of a column are in which state, and an example of each."""

    column: str
    scale: str
    counts: Mapping[int, int]
    examples: Mapping[int, str]

    def in_words(self, rows_are: str = "not in the result") -> list[str]:
        """Sentences on the cells that are not read, none if all are. rows_are: what that means for their rows."""
        kind, _ = _parts(self.scale)
        two = "decimals or thousands" if kind == "number" else "day and month in either order"
        texts = {
            UNREADABLE: f"could not be read as a {kind}",
            UNCLEAR: f"could be {two}, and the other rows do not tell",
            CONTRARY: "not written as the first rows: what could be two values is read as in those",
        }
        sentences = []
        for state, text in texts.items():
            if count := self.counts.get(state, 0):
                are, they = ("is", "it is") if count == 1 else ("are", "they are")
                rest = f"{are} {text}" if state == CONTRARY else f"{text}: {they} {rows_are}"
                sentences.append(f"{amount(count, 'row')} of column '{self.column}', such as “{self.examples[state]}”, {rest}.")
        return sentences


def read(cells: "pd.Series[str]") -> Values | None:
    """The cells on the scale that reads most of them; None if most are of no kind."""
    codes, texts = _different(cells)
    rows = np.bincount(codes, minlength=len(texts))
    filled = int(rows[[bool(text) for text in texts]].sum())
    most, best = 0, ""
    chosen: Sequence[Readings] = ()
    moments = all(MOMENT.fullmatch(text) for text in texts if text)
    for kind in sorted(KINDS, key=lambda kind: kind != "date") if moments else KINDS:
        readings = [KINDS[kind](text) if text else {} for text in texts]
        if rows[[bool(possible) for possible in readings]].sum() < SURE_SHARE * filled:
            readings = [{} if MAY_BE_VERSION.fullmatch(text) else possible for text, possible in zip(texts, readings, strict=True)]
        if (count := int(rows[[bool(possible) for possible in readings]].sum())) > most:
            most, best, chosen = count, kind, readings
        if most == filled:
            break
    if not most or most < SCALE_SHARE * filled:
        return None
    seen = {convention for readings in chosen if len(readings) == 1 for convention in readings if convention}
    scale = ", ".join([best, *sorted(seen - {OPPOSITE[convention] for convention in seen})])
    return _placed(scale, cells, codes, texts, chosen)


def is_scale(scale: object) -> bool:
    """Whether `read` could have chosen it, here or in an earlier version."""
    return isinstance(scale, str) and _parts(scale)[0] in KINDS


def values_on(scale: str, cells: "pd.Series[str]") -> Values:
    """The cells on a scale that `read` chose for others."""
    codes, texts = _different(cells)
    kind, _ = _parts(scale)
    return _placed(scale, cells, codes, texts, [KINDS[kind](text) if text else {} for text in texts])


def range_on(scale: str, column: str, low: Any, high: Any, example: str = "") -> tuple[float, float]:
    """A range on a scale, without an end infinite; "2026-03" as the upper end means the last moment of March. Raises UserError."""
    first = -math.inf if low is None else _bound(scale, column, low, False, example)
    last = math.inf if high is None else _bound(scale, column, high, True, example)
    if first > last:
        raise UserError(f"No value of column '{column}' is from {low} to {high}. Write the lower one first.")
    return first, last


def _bound(scale: str, column: str, value: Any, last: bool, example: str) -> float:
    kind, conventions = _parts(scale)
    text = str(value).strip()
    if kind == "number" and type(value) in (int, float) and not math.isnan(value):
        return float(value)
    number, state = _one(KINDS[kind](text), conventions)
    if state == UNCLEAR:
        way_out = "1234 or 1.2340" if kind == "number" else "2026-03-31"
        raise UserError(f"'{text}' could be two values, and column '{column}' does not tell which. Write it like {way_out}.")
    if state == UNREADABLE:
        such = f" like '{example}'" if example else ""
        raise UserError(f"'{text}' cannot be compared with column '{column}', which holds {kind}s{such}.")
    return last_moment(text, number) if kind == "date" and last else number


def _parts(scale: str) -> tuple[str, list[str]]:
    """A key of KINDS, and the conventions in which what could be two values is read."""
    kind, *conventions = FORMER.get(scale, scale).split(", ")
    return kind, conventions


def _different(cells: "pd.Series[str]") -> tuple[NDArray[np.intp], list[str]]:
    """The number of each cell's text, (n,), and the different texts, "" for a blank."""
    codes, different = pd.factorize(cells)
    texts = [str(text).strip() for text in different]
    return np.where(codes < 0, len(texts), codes), [*("" if text.lower() in BLANKS else text for text in texts), ""]


def _placed(
    scale: str, cells: "pd.Series[str]", codes: NDArray[np.intp], texts: Sequence[str], readings: Sequence[Readings]
) -> Values:
    _, conventions = _parts(scale)
    each = [_one(possible, conventions) if text else (math.nan, BLANK) for text, possible in zip(texts, readings, strict=True)]
    values, states = zip(*each, strict=True)
    return Values(scale, cells, np.array(values, dtype=np.float64)[codes], np.array(states, dtype=np.int8)[codes])


def _one(readings: Readings, conventions: Sequence[str]) -> tuple[float, int]:
    """The value of a cell and its state, on a scale with these conventions."""
    different = set(readings.values())
    if len(different) > 1:
        chosen = [value for convention, value in readings.items() if convention in conventions]
        return (chosen[0], VALUE) if chosen else (math.nan, UNCLEAR)
    if not different:
        return math.nan, UNREADABLE
    contrary = len(readings) == 1 and OPPOSITE.get(next(iter(readings))) in conventions
    return different.pop(), CONTRARY if contrary else VALUE
