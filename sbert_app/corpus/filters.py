"""Filter rows by metadata: one of several values, a contained text, or a range of numbers, dates or times."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.values import VALUE, range_on, read
from sbert_app.errors import UserError
from sbert_app.vectors import Mask

LABEL_COLUMNS, LABEL_LENGTH = 4, 60  # columns; characters of the longest value
BLANK = "(blank)"  # how an empty cell is shown
FACET_VALUES = 100  # a column with more distinct values is filtered by text or range, not by a list
LISTED_NUMBERS = 12  # a column of numbers or dates with more distinct values is filtered by range
SAMPLED, BARS = 2_000, 16  # rows in which a range is looked for; parts of a range


@dataclass(frozen=True)
class Condition:
    """One condition on a column: among these values, with this text (both in any case), from low to high. All that are set hold."""

    column: str
    values: tuple[str, ...] | None = None
    contains: str = ""
    low: Any = None
    high: Any = None

    @property
    def is_range(self) -> bool:
        return self.low is not None or self.high is not None

    @property
    def in_words(self) -> str:
        if self.values is not None:
            return f"{self.column}: {' or '.join(value or BLANK for value in self.values)}"
        text = f"“{self.contains}” in {self.column}" if self.contains else ""
        bounds = [f"{end} {bound}" for end, bound in (("from", self.low), ("to", self.high)) if bound is not None]
        return ", ".join(filter(None, [text, " ".join([self.column, *bounds]) if bounds else ""]))


class Matching(NamedTuple):
    """Which rows match filters, (n,), and sentences on the cells that were not read for their ranges."""

    mask: Mask
    notes: tuple[str, ...]


def conditions(filters: Mapping[str, Any], columns: Sequence[str]) -> list[Condition]:
    """Check filters. Raises UserError.

    Each is a value, a list of values, {"contains": text} or, of numbers, dates, times, {"from": low, "to": high}, one end optional.
    """
    try:
        json.dumps(filters, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise UserError("A filter holds half of a character (a surrogate), which no text can. Type it again.") from error
    return [_condition(column, condition, columns) for column, condition in filters.items()]


def _condition(column: str, condition: Any, columns: Sequence[str]) -> Condition:
    if column not in columns:
        raise UserError(f"There is no column '{column}' to filter by. The columns are: {', '.join(columns) or 'none'}.")
    if not isinstance(condition, Mapping):
        values = condition if isinstance(condition, list) else [condition]
        return Condition(column, values=tuple(map(str, values)))
    if unknown := condition.keys() - {"contains", "from", "to"}:
        raise UserError(f"A filter has no setting '{min(unknown)}'. Use a list of values, contains, from or to.")
    low, high = (condition[end] if condition.get(end) not in (None, "") else None for end in ("from", "to"))
    return Condition(column, contains=str(condition.get("contains") or ""), low=low, high=high)


def no_scale(column: str) -> UserError:
    return UserError(f"Column '{column}' holds neither numbers nor dates. Filter it by its values, or by a text it contains.")


def matching_rows(metadata: pd.DataFrame, filters: Mapping[str, Any]) -> Matching:
    """The rows that match every filter, as `conditions` reads them. Raises UserError."""
    mask, notes = np.ones(len(metadata), dtype=bool), list[str]()
    for condition in conditions(filters, list(metadata.columns)):
        cells = metadata[condition.column]
        if condition.values is not None:
            wanted = {trimmed(value).casefold() for value in condition.values}
            mask &= cells.isin([form for form in cells.unique() if trimmed(form).casefold() in wanted]).to_numpy(dtype=bool)
        if condition.contains:
            mask &= cells.str.contains(condition.contains, case=False, regex=False).to_numpy(dtype=bool)
        if condition.is_range:
            if (values := read(cells)) is None:
                raise no_scale(condition.column)
            unread = values.unread
            notes += unread.in_words()
            first, last = range_on(values.scale, condition.column, condition.low, condition.high, unread.examples.get(VALUE, ""))
            mask &= (values.values >= first) & (values.values <= last)
    return Matching(mask, tuple(notes))


def trimmed(value: str) -> str:
    """A value without outer blanks; one that is all blank stays as it is."""
    return value.strip() or value


def label_columns(metadata: pd.DataFrame) -> dict[str, NDArray[np.object_]]:
    """The first four columns with few distinct short values: labels that groups of rows can be compared with."""
    short = [column for column, values in facets(metadata).items() if max(map(len, values)) <= LABEL_LENGTH]
    return {column: metadata[column].to_numpy(dtype=object) for column in short[:LABEL_COLUMNS]}


def facets(metadata: pd.DataFrame) -> dict[str, dict[str, int]]:
    """The columns with few distinct values, and the number of rows of each value, most frequent first."""
    counts = {column: metadata[column].value_counts() for column in metadata.columns}
    few = {c: n for c, n in counts.items() if 1 < len(n) <= FACET_VALUES and len(n) < len(metadata)}
    return {column: {str(value): int(rows) for value, rows in counted.items()} for column, counted in few.items()}


@dataclass(frozen=True)
class FilterColumn:
    """How the rows of a corpus can be filtered by a column: by its values if they are few, within a range, or by a text in it."""

    name: str
    # The ways in which a value is written, which differ in case and outer blanks only, and its rows; numbers in their order,
    # others by their rows, most first.
    values: tuple[tuple[tuple[str, ...], int], ...] = ()
    ends: tuple[str, str] | None = None  # a low and a high cell of numbers, dates or times
    bars: tuple[int, ...] = ()  # rows in equal parts between them


def filter_columns(metadata: pd.DataFrame) -> list[FilterColumn]:
    """How each column can be filtered by: those with few values first, then those with a range, then texts."""
    few = facets(metadata)
    columns = [_filter_column(metadata[name], few.get(str(name), {})) for name in metadata.columns]
    return sorted(columns, key=lambda column: (not column.values, column.ends is None, len(column.values)))


def written_once(cells: "pd.Series[str]") -> "pd.Series[str]":
    """Each cell as most rows write it, where cells differ in case and outer blanks only."""
    most = dict[str, str]()
    return cells.map({value: most.setdefault(value.strip().casefold(), value) for value in cells.value_counts().index})


def _filter_column(cells: "pd.Series[str]", counts: Mapping[str, int]) -> FilterColumn:
    if not counts or len(counts) > LISTED_NUMBERS:
        sample = cells.iloc[:: -(-len(cells) // SAMPLED) or 1]
        if (numbers := read(sample)) and np.isfinite(numbers.values).any():
            low, high = (str(sample.iloc[int(pick(numbers.values))]) for pick in (np.nanargmin, np.nanargmax))
            bars = list[int]()
            with suppress(ValueError):  # no float lies between two such numbers
                bars = np.histogram(numbers.values[np.isfinite(numbers.values)], BARS)[0].tolist()
            return FilterColumn(str(cells.name), ends=(low, high), bars=tuple(bars))
    alike: dict[str, list[str]] = {}
    for value in counts:
        alike.setdefault(value.strip().casefold(), []).append(value)
    values = [(tuple(forms), sum(counts[form] for form in forms)) for forms in alike.values()]
    try:  # numbers in their order, rows without one last
        values.sort(key=lambda value: np.nan_to_num(float(value[0][0].strip() or "nan"), nan=np.inf))
    except ValueError:
        values.sort(key=lambda value: -value[1])
    return FilterColumn(str(cells.name), tuple(values))


def in_words(filters: Mapping[str, Any]) -> str:
    """Filters that `matching_rows` accepts, as a phrase: "team: Billing or Technical, amount from 3 to 5"."""
    return ", ".join(condition.in_words for condition in conditions(filters, list(filters)))
