"""What the colours of a map say: the clusters, a column of the corpus, the likeness to a query, or the drift of a model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.filters import in_order
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError

CLUSTERS, QUERY, DRIFT = "Clusters", "Likeness to the query", "Drift under the other model"
COLUMN = "Column: "
MOST_KINDS = 20  # colours that an eye can tell apart; more values than that share the last
FEW = 12  # numbers with no more distinct values than this are kinds, such as grades
BLANK = "(blank)"
OUTLIERS = "outliers"


@dataclass(frozen=True)
class Kinds:
    """A colour each. `codes` (n,): the kind of each row, -1 for those without; `names` one a kind; `rest` names the -1."""

    title: str
    codes: NDArray[np.int32]
    names: list[str]
    rest: str = OUTLIERS


@dataclass(frozen=True)
class Scale:
    """A colour scale. `values` (n,), NaN where a row has none; `ticks`: places on it and their text."""

    title: str
    values: NDArray[np.float32]
    ticks: list[tuple[float, str]]


def choices(corpus_map: CorpusMap) -> list[str]:
    """What this map can be coloured by."""
    columns = [f"{COLUMN}{name}" for name in corpus_map.ground.indexed.corpus.metadata.columns]
    return [CLUSTERS, *columns, *([QUERY] if corpus_map.query else []), *([DRIFT] if corpus_map.moved else [])]


def colouring(corpus_map: CorpusMap, by: str = CLUSTERS) -> Kinds | Scale:
    """The colours of all rows. Raises UserError for what the map cannot be coloured by."""
    if by not in choices(corpus_map):
        raise UserError(f"The map cannot be coloured by {by!r}. Choose one of {', '.join(choices(corpus_map))}.")
    if by == QUERY and corpus_map.query is not None:
        return _scale("cosine to the query", corpus_map.query.scores)
    if by == DRIFT and corpus_map.moved is not None:
        values = np.full(len(corpus_map.ground.points), np.nan, np.float32)
        values[corpus_map.ground.drawn] = 1 - corpus_map.moved.drift.kept
        return _scale("nearest rows that changed", values)
    if by.startswith(COLUMN):
        name = by.removeprefix(COLUMN)
        return _column(name, corpus_map.ground.indexed.corpus.metadata[name])
    return Kinds("cluster", corpus_map.clustering.labels, corpus_map.names)


def _column(name: str, cells: "pd.Series[str]") -> Kinds | Scale:
    ordered = in_order(cells) if cells.nunique() > FEW else None
    if ordered is not None:
        values, text = ordered
        return _scale(name, values, text)
    counts = cells.value_counts()
    kept = [str(value) for value in counts.index[: MOST_KINDS if len(counts) <= MOST_KINDS else MOST_KINDS - 1]]
    codes = pd.Categorical(cells, categories=kept).codes.astype(np.int32)
    left = len(counts) - len(kept)
    return Kinds(name, codes, [value or BLANK for value in kept], rest=f"{left:,} other values")


def _scale(title: str, values: NDArray[np.floating], text: "pd.Series[str] | None" = None) -> Scale:
    """text: how each row's value is written, where that is not a plain number."""
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        return Scale(title, values.astype(np.float32), [])
    low, high = (finite[pick(values[finite])] for pick in (np.argmin, np.argmax))
    # From 0 to the span: float32 would round dates, which are large numbers, to days.
    shifted = (values - values[low]).astype(np.float32)
    ends = dict.fromkeys([int(low), int(high)])
    ticks = [(float(shifted[row]), str(text.iloc[row]) if text is not None else f"{values[row]:.3g}") for row in ends]
    return Scale(title, shifted, ticks)
