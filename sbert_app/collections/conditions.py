"""Filters, checked against the columns of a collection and read into conditions that every store can evaluate."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sbert_app.collections.collection import METADATA, SENTENCE, Facts
from sbert_app.corpus.filters import bound_on, values_on
from sbert_app.errors import UserError


@dataclass(frozen=True)
class Condition:
    """One condition on a column: among these values, with this text (in any case), or at these bounds. All that are set must hold.

    low, high: inclusive, on the column's scale: numbers, or seconds since 1970 for dates.
    """

    column: str
    values: tuple[str, ...] | None = None
    contains: str = ""
    low: float | None = None
    high: float | None = None


def conditions(filters: Mapping[str, Any], facts: Facts) -> list[Condition]:
    """Read filters as in corpus.filters.matching_rows. Raises UserError, in the same words, for those that do not fit."""
    if not isinstance(filters, Mapping):
        raise UserError("Filters must be an object of column names: a value, a list of values, contains, from or to.")
    try:
        json.dumps(filters, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as error:
        raise UserError("A filter holds half of a character (a surrogate), which no text can. Type it again.") from error
    return [_condition(column, condition, facts) for column, condition in filters.items()]


def _condition(column: str, condition: Any, facts: Facts) -> Condition:
    if column not in (*facts.columns, facts.sentence):
        names = ", ".join((*facts.columns, facts.sentence))
        raise UserError(f"There is no column '{column}' to filter by. The columns are: {names}.")
    if not isinstance(condition, Mapping):
        values = condition if isinstance(condition, list) else [condition]
        return Condition(column, values=tuple(map(str, values)))
    unknown = condition.keys() - {"contains", "from", "to"}
    if unknown:
        raise UserError(f"A filter has no setting '{min(unknown)}'. Use a list of values, contains, from or to.")
    bounds = {end: str(condition[end]).strip() for end in ("from", "to") if condition.get(end) not in (None, "")}
    if bounds and column not in facts.scales:
        raise UserError(f"Column '{column}' holds neither numbers nor dates. Filter it by its values, or by a text it contains.")
    read = {end: bound_on(facts.scales[column], column, text, last=end == "to") for end, text in bounds.items()}
    return Condition(column, contains=str(condition.get("contains") or ""), low=read.get("from"), high=read.get("to"))


def matching(rows: pa.Table, wanted: Sequence[Condition], facts: Facts) -> NDArray[np.bool_]:
    """Which rows of a table fulfil all conditions, (n,)."""
    mask = np.ones(len(rows), dtype=bool)
    for condition in wanted:
        cells = pd.Series(rows.column(column_name(condition.column, facts)), dtype=pd.ArrowDtype(pa.string()))
        if condition.values is not None:
            mask &= cells.isin(list(condition.values)).to_numpy(dtype=bool)
        if condition.contains:
            mask &= cells.str.contains(condition.contains, case=False, regex=False).to_numpy(dtype=bool)
        if condition.low is not None or condition.high is not None:
            values = values_on(facts.scales[condition.column], cells)
            low = -np.inf if condition.low is None else condition.low
            high = np.inf if condition.high is None else condition.high
            mask &= (values >= low) & (values <= high)
    return mask


def column_name(column: str, facts: Facts) -> str:
    """How a column of the files is named in a table of `facts.schema`."""
    return SENTENCE if column == facts.sentence else METADATA + column
