"""Filter rows by metadata: one of several values, a contained text, or a range of numbers, dates or times."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.values import Unread, read
from sbert_app.errors import UserError

LABEL_COLUMNS, LABEL_LENGTH = 4, 60  # columns; characters of the longest value
BLANK = "(blank)"  # how an empty cell is shown
FACET_VALUES = 100  # a column with more distinct values is filtered by text or range, not by a list


@dataclass(frozen=True)
class Condition:
    """One condition on a column: among these values, with this text (in any case), from low to high. All that are set must hold."""

    column: str
    values: tuple[str, ...] | None = None
    contains: str = ""
    low: Any = None
    high: Any = None

    @property
    def is_range(self) -> bool:
        return self.low is not None or self.high is not None


@dataclass(frozen=True)
class Matching:
    """Which rows match filters, (n,), and for each range which cells of its column were not read."""

    mask: NDArray[np.bool_]
    unread: tuple[Unread, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(sentence for column in self.unread for sentence in column.in_words())


def conditions(filters: Mapping[str, Any], columns: Sequence[str]) -> list[Condition]:
    """Check filters. Raises UserError.

    A filter is a value, a list of values, {"contains": text} or, for numbers, dates or times, {"from": low, "to": high}, one end
    optional.
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
    unknown = condition.keys() - {"contains", "from", "to"}
    if unknown:
        raise UserError(f"A filter has no setting '{min(unknown)}'. Use a list of values, contains, from or to.")
    low, high = (condition[end] if condition.get(end) not in (None, "") else None for end in ("from", "to"))
    return Condition(column, contains=str(condition.get("contains") or ""), low=low, high=high)


def no_scale(column: str) -> UserError:
    return UserError(f"Column '{column}' holds neither numbers nor dates. Filter it by its values, or by a text it contains.")


def matching_rows(metadata: pd.DataFrame, filters: Mapping[str, Any]) -> Matching:
    """The rows that match every filter, as `conditions` reads them. Raises UserError."""
    mask, unread = np.ones(len(metadata), dtype=bool), []
    for condition in conditions(filters, list(metadata.columns)):
        cells = metadata[condition.column]
        if condition.values is not None:
            mask &= cells.isin(list(condition.values)).to_numpy(dtype=bool)
        if condition.contains:
            mask &= cells.str.contains(condition.contains, case=False, regex=False).to_numpy(dtype=bool)
        if condition.is_range:
            values = read(cells)
            if values is None:
                raise no_scale(condition.column)
            for end, passes in ((condition.low, np.greater_equal), (condition.high, np.less_equal)):
                if end is not None:
                    mask &= passes(values.values, values.bound(end, last=passes is np.less_equal))
            unread.append(values.unread)
    return Matching(mask, tuple(unread))


def label_columns(metadata: pd.DataFrame) -> dict[str, NDArray[np.object_]]:
    """The first four columns with few distinct short values: labels that groups of rows can be compared with."""
    short = [column for column, values in facets(metadata).items() if max(map(len, values)) <= LABEL_LENGTH]
    return {column: metadata[column].to_numpy(dtype=object) for column in short[:LABEL_COLUMNS]}


def facets(metadata: pd.DataFrame) -> dict[str, dict[str, int]]:
    """The columns with few distinct values, and the number of rows of each value, most frequent first."""
    counts = {column: metadata[column].value_counts() for column in metadata.columns}
    few = {c: n for c, n in counts.items() if 1 < len(n) <= FACET_VALUES and len(n) < len(metadata)}
    return {column: {str(value): int(rows) for value, rows in counted.items()} for column, counted in few.items()}


def facet_list(metadata: pd.DataFrame) -> list[tuple[str, str, int]]:
    """(column, value, rows) of each facet, the columns with the fewest values first."""
    fewest_first = sorted(facets(metadata).items(), key=lambda item: len(item[1]))
    return [(column, *counted) for column, counts in fewest_first for counted in counts.items()]


def in_words(filters: Mapping[str, Any]) -> str:
    """Filters that `matching_rows` accepts, as a phrase: "team: Billing or Technical, amount from 3 to 5"."""
    return ", ".join(map(_phrase, conditions(filters, list(filters))))


def _phrase(condition: Condition) -> str:
    column = condition.column
    if condition.values is not None:
        return f"{column}: {' or '.join(value or BLANK for value in condition.values)}"
    text = f"“{condition.contains}” in {column}" if condition.contains else ""
    bounds = [f"{end} {bound}" for end, bound in (("from", condition.low), ("to", condition.high)) if bound is not None]
    return ", ".join(filter(None, [text, " ".join([column, *bounds]) if bounds else ""]))
