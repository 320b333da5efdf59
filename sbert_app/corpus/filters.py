"""Filter rows by metadata: one of several values, a contained text, or a range of numbers or dates."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError

SCALE_SHARE = 0.5  # of the filled cells must be readable: a column may hold some "n/a"
DECIMAL_COMMA = r"[-+]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?"
ISO_DATE = re.compile(r"\d{4}(-\d{2}){0,2}")
PERIODS = {4: "Y", 7: "M"}  # by length: "2026" is a year, "2026-03" a month; longer ones are days
LABEL_COLUMNS, LABEL_LENGTH = 4, 60  # columns; characters of the longest value
BLANK = "(blank)"  # how an empty cell is shown
EPOCH = pd.Timestamp(0)
FACET_VALUES = 100  # a column with more distinct values is filtered by text or range, not by a list


def matching_rows(metadata: pd.DataFrame, filters: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which rows match every filter, (n,) bool. Raises UserError.

    A filter is a value, a list of values, {"contains": text} or, for numbers or dates, {"from": low, "to": high}, one end optional.
    """
    if not isinstance(filters, Mapping):
        raise UserError("Filters must be an object of column names: a value, a list of values, contains, from or to.")
    mask = np.ones(len(metadata), dtype=bool)
    for column, condition in filters.items():
        if column not in metadata.columns:
            names = ", ".join(metadata.columns) or "none"
            raise UserError(f"There is no column '{column}' to filter by. The columns are: {names}.")
        mask &= _matches(column, metadata[column], condition)
    return mask


def numbers(cells: "pd.Series[str]") -> NDArray[np.float64]:
    """Parse cells as numbers, (n,); NaN where a cell is not a number."""
    return _numbers(cells).to_numpy(dtype=np.float64)


def ordered_values(cells: "pd.Series[str]") -> tuple[NDArray[np.float64], "pd.Series[str]"] | None:
    """Parse numbers or dates to values on one axis, (n,), NaN if unreadable; also returns the cells. None if most are neither."""
    try:
        scale = _scale(str(cells.name), cells)
    except UserError:
        return None
    values = scale.values
    if scale.dates:
        values = (values - values.min()).dt.total_seconds()
    return values.to_numpy(dtype=np.float64), cells


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
    return ", ".join(_phrase(column, condition) for column, condition in filters.items())


def _phrase(column: str, condition: Any) -> str:
    if not isinstance(condition, Mapping):
        values = condition if isinstance(condition, list) else [condition]
        return f"{column}: {' or '.join(str(value) or BLANK for value in values)}"
    text = f"“{condition['contains']}” in {column}" if condition.get("contains") else ""
    bounds = [f"{end} {condition[end]}" for end in ("from", "to") if condition.get(end) not in (None, "")]
    return ", ".join(filter(None, [text, " ".join([column, *bounds]) if bounds else ""]))


def _matches(column: str, cells: "pd.Series[str]", condition: Any) -> NDArray[np.bool_]:
    if not isinstance(condition, Mapping):
        values = condition if isinstance(condition, list) else [condition]
        return cells.isin([str(value) for value in values]).to_numpy()
    unknown = condition.keys() - {"contains", "from", "to"}
    if unknown:
        raise UserError(f"A filter has no setting '{min(unknown)}'. Use a list of values, contains, from or to.")
    mask = np.ones(len(cells), dtype=bool)
    if condition.get("contains"):
        mask &= cells.str.contains(str(condition["contains"]), case=False, regex=False).to_numpy()
    bounds = {end: str(condition[end]).strip() for end in ("from", "to") if condition.get(end) not in (None, "")}
    if bounds:
        scale = _scale(column, cells)
        if "from" in bounds:
            mask &= (scale.values >= scale.bound(bounds["from"], last=False)).to_numpy()
        if "to" in bounds:
            mask &= (scale.values <= scale.bound(bounds["to"], last=True)).to_numpy()
    return mask


@dataclass(frozen=True)
class _Scale:
    """A column parsed as numbers or dates, and the parser for its bounds."""

    column: str
    example: str
    values: "pd.Series[Any]"
    read: "Callable[[pd.Series[str]], pd.Series[Any]]"
    dates: bool

    def bound(self, text: str, last: bool) -> Any:
        """Parse a bound; as the upper one, "2026-03" means the last moment of March."""
        value = _bound(text, self.read, self.dates, last)
        if value is None:
            raise UserError(f"'{text}' cannot be compared with column '{self.column}', which holds values like '{self.example}'.")
        return value


def _bound(text: str, read: "Callable[[pd.Series[str]], pd.Series[Any]]", dates: bool, last: bool) -> Any:
    """A number or timestamp, None if the text is neither."""
    value = read(pd.Series([text], dtype=str))[0]
    if dates and ISO_DATE.fullmatch(text):
        value = pd.to_datetime(text, errors="coerce")
    if pd.isna(value):
        return None
    if dates and last:
        return pd.Period(value, PERIODS.get(len(text), "D") if ISO_DATE.fullmatch(text) else "D").end_time
    return value


def scale_of(cells: "pd.Series[str]") -> str:
    """How most cells are read as numbers or dates, a key of SCALES; "" if most are neither."""
    try:
        return next(name for name, read in SCALES.items() if read is _scale("", cells).read)
    except UserError:
        return ""


def values_on(scale: str, cells: "pd.Series[str]") -> NDArray[np.float64]:
    """Cells as numbers, dates as seconds since 1970, (n,); NaN where a cell is neither. scale: a key of SCALES."""
    values = SCALES[scale](cells)
    if scale not in NUMBERS:
        values = (values - EPOCH).dt.total_seconds()
    return values.to_numpy(dtype=np.float64)


def bound_on(scale: str, column: str, text: str, last: bool) -> float:
    """A bound of a range as `values_on` gives values. Raises UserError for a text that is no such value."""
    dates = scale not in NUMBERS
    value = _bound(text, SCALES[scale], dates, last)
    if value is None:
        raise UserError(f"'{text}' cannot be compared with column '{column}', which holds {'dates' if dates else 'numbers'}.")
    return float((value - EPOCH).total_seconds() if dates else value)


def _scale(column: str, cells: "pd.Series[str]") -> _Scale:
    filled = cells[cells.str.strip() != ""]
    readings = {name: read(cells) for name, read in SCALES.items()}
    readable = {name: values[filled.index].notna().mean() for name, values in readings.items()}
    best = max(readable, key=readable.__getitem__)  # on a tie the first
    if not len(filled) or readable[best] < SCALE_SHARE:
        raise UserError(f"Column '{column}' holds neither numbers nor dates. Filter it by its values, or by a text it contains.")
    values = readings[best]
    example = str(filled[values[filled.index].notna()].iloc[0])
    return _Scale(column, example, values, SCALES[best], dates=best not in NUMBERS)


def _numbers(cells: "pd.Series[str]") -> "pd.Series[Any]":
    return pd.to_numeric(cells, errors="coerce")


def _decimal_commas(cells: "pd.Series[str]") -> "pd.Series[Any]":
    plain = cells.where(cells.str.fullmatch(DECIMAL_COMMA), "").str.replace(".", "").str.replace(",", ".")
    return pd.to_numeric(plain, errors="coerce")


def _dates(pattern: str) -> "Callable[[pd.Series[str]], pd.Series[Any]]":
    return lambda cells: pd.to_datetime(cells, format=pattern, errors="coerce")


# A column gets the scale that reads most of its filled cells; on a tie the first.
NUMBERS = ("numbers", "decimal commas")
SCALES: "dict[str, Callable[[pd.Series[str]], pd.Series[Any]]]" = {
    "numbers": _numbers,
    "ISO dates": _dates("ISO8601"),
    "decimal commas": _decimal_commas,
    "day.month.year": _dates("%d.%m.%Y"),
    "day/month/year": _dates("%d/%m/%Y"),
    "month/day/year": _dates("%m/%d/%Y"),
}
