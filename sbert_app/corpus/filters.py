"""Keep only the rows whose metadata fit: one of some values, a text inside, or a range of numbers or dates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError

FACET_VALUES = 100  # a column with more distinct values is filtered by text or range, not by a list


def matching_rows(metadata: pd.DataFrame, filters: Mapping[str, Any]) -> NDArray[np.bool_] | None:
    """Which rows fit every filter: (n,) of bool, None where there is no filter at all.

    A filter is a value, a list of values, {"contains": text}, or {"from": low, "to": high} (either end may be missing;
    compared as numbers where the column holds numbers, else as text, which is right for ISO dates).
    """
    mask = np.ones(len(metadata), dtype=bool)
    for column, wanted in filters.items():
        if column not in metadata.columns:
            names = ", ".join(metadata.columns) or "none"
            raise UserError(f"There is no column '{column}' to filter by. The columns are: {names}.")
        mask &= _fits(metadata[column], wanted)
    return mask if filters else None


def facets(metadata: pd.DataFrame) -> dict[str, list[str]]:
    """The columns worth a list, with their values, most frequent first."""
    counts = {column: metadata[column].value_counts() for column in metadata.columns}
    return {c: [str(v) for v in n.index] for c, n in counts.items() if 1 < len(n) <= FACET_VALUES and len(n) < len(metadata)}


def _fits(cells: "pd.Series[str]", wanted: Any) -> NDArray[np.bool_]:
    if not isinstance(wanted, Mapping):
        values = wanted if isinstance(wanted, list) else [wanted]
        return cells.isin([str(value) for value in values]).to_numpy()
    unknown = wanted.keys() - {"contains", "from", "to"}
    if unknown:
        raise UserError(f"A filter has no setting '{min(unknown)}'. Use a list of values, contains, from or to.")
    mask = np.ones(len(cells), dtype=bool)
    if wanted.get("contains"):
        mask &= cells.str.contains(str(wanted["contains"]), case=False, regex=False).to_numpy()
    for end in ("from", "to"):
        if wanted.get(end) not in (None, ""):
            mask &= _on_side(cells, end, wanted[end])
    return mask


def _on_side(cells: "pd.Series[str]", end: str, bound: Any) -> NDArray[np.bool_]:
    numbers = pd.to_numeric(cells, errors="coerce")
    try:
        limit = float(bound)
    except (TypeError, ValueError):
        limit = None
    if limit is not None and numbers.notna().any():
        return (numbers >= limit if end == "from" else numbers <= limit).to_numpy()
    text = str(bound)
    # "2026-03" as an end means the whole of March: compare as many characters as were given.
    return ((cells >= text) if end == "from" else (cells.str[: len(text)] <= text)).to_numpy() & (cells != "").to_numpy()
