"""Colour a map by cluster, a column, similarity to a query, or drift under another model; count columns' values by cluster."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.filters import BLANK, written_once
from sbert_app.corpus.values import read
from sbert_app.corpus_map.result import OUTLIER_NAMES, CorpusMap
from sbert_app.errors import UserError
from sbert_app.vectors import Integers, Vectors

CLUSTERS, QUERY, DRIFT = "Clusters", "Similarity to the query", "Drift under the other model"
COLUMN = "Column: "
MOST_CATEGORIES = 20  # colours that an eye can distinguish; the values beyond share one
FEW_VALUES = 12  # numbers with at most this many distinct values, such as grades, are categories
OUTLIERS = OUTLIER_NAMES[1]


@dataclass(frozen=True)
class Categories:
    """A colour per category."""

    title: str
    codes: NDArray[np.int32]  # the category of each row, (n,), -1 for none
    names: list[str]  # by category
    rest: str = OUTLIERS  # the name of -1
    of_column: bool = False  # categories are the values of a column, not clusters
    numbers: int = 0  # the first so many are numbers or dates in their order

    @property
    def counts(self) -> Integers:
        """Rows of each category, and last those without one."""
        return np.roll(np.bincount(self.codes + 1, minlength=len(self.names) + 1), -1)

    def name_of(self, code: int) -> str:
        return self.names[code] if code >= 0 else self.rest

    def members(self, code: Any) -> Integers:
        """The rows of one category; -1 means those without one. Raises UserError for an unknown category."""
        if type(code) is not int or not -1 <= code < len(self.names):
            raise UserError(f"“{self.title}” has no value {code!r}. Choose one from the list.")
        return np.flatnonzero(self.codes == code)


@dataclass(frozen=True)
class ColourScale:
    """A colour scale."""

    title: str
    values: Vectors  # (n,), NaN where a row has none
    ticks: list[tuple[float, str]]  # positions on the scale and their labels
    of_column: bool = False
    notes: tuple[str, ...] = ()  # which rows of a column have no colour because they could not be read


def choices(corpus_map: CorpusMap) -> list[str]:
    """The names that this map can be coloured by."""
    columns = [f"{COLUMN}{name}" for name in corpus_map.projection.indexed.corpus.metadata.columns]
    return [CLUSTERS, *columns, *([QUERY] if corpus_map.query else []), *([DRIFT] if corpus_map.comparison else [])]


def colouring(corpus_map: CorpusMap, by: str = CLUSTERS) -> Categories | ColourScale:
    """The colours of all rows by one of `choices`. Raises UserError for another name."""
    if by not in choices(corpus_map):
        raise UserError(f"The map cannot be coloured by {by!r}. Choose one of {', '.join(choices(corpus_map))}.")
    if by == QUERY and corpus_map.query is not None:
        return _scale("cosine to the query", corpus_map.query.scores)
    if by == DRIFT and corpus_map.comparison is not None:
        values = np.full(len(corpus_map.projection.points), np.nan, np.float32)
        values[corpus_map.projection.drawn] = 1 - corpus_map.comparison.kept
        return _scale("nearest rows that changed", values)
    if by.startswith(COLUMN):
        name = by.removeprefix(COLUMN)
        return _column(name, corpus_map.projection.indexed.corpus.metadata[name])
    return Categories("cluster", corpus_map.clustering.labels, corpus_map.names)


def by_cluster(corpus_map: CorpusMap) -> list[dict[str, float | None]]:
    """Of each cluster, and last of the outliers: "column: value", how many of its rows have a value, and "column, mean" of numbers.

    Values are counted in columns of at most MOST_CATEGORIES. A mean is None where no row has a number. A column in which no value
    occurs twice may number the rows: only such numbers as 12.5 have a mean.
    """
    clustering, metadata = corpus_map.clustering, corpus_map.projection.indexed.corpus.metadata
    groups = np.where(clustering.labels < 0, clustering.count, clustering.labels)
    counts: dict[str, list[float | None]] = {}  # by column of the records
    for name in metadata.columns:
        column = read(metadata[name])
        if metadata[name].is_unique and (column is None or not (column.values % 1 > 0).any()):
            continue
        colours = _column(name, metadata[name])
        if isinstance(colours, Categories) and (colours.codes >= 0).all():
            for code, value in enumerate(colours.names):
                counts[f"{name}: {value}"] = np.bincount(groups[colours.codes == code], minlength=clustering.count + 1).tolist()
        if column is not None and column.scale.startswith("number"):
            means = pd.Series(column.values).groupby(groups).mean().reindex(range(clustering.count + 1))
            counts[f"{name}, mean"] = means.round(3).astype(object).where(means.notna(), None).tolist()
    return [{key: numbers[group] for key, numbers in counts.items()} for group in range(clustering.count + 1)]


def _column(name: str, cells: "pd.Series[str]") -> Categories | ColourScale:
    column = read(cells)
    if column is not None and cells.nunique() > FEW_VALUES and np.isfinite(column.values).any():
        notes = tuple(column.unread.in_words("grey on the map"))
        return replace(_scale(name, column.values, cells), of_column=True, notes=notes)
    cells = written_once(cells)
    counts = cells.value_counts()
    frequent = [str(value) for value in counts.index[: MOST_CATEGORIES if len(counts) <= MOST_CATEGORIES else MOST_CATEGORIES - 1]]
    numbers = {} if column is None else dict(zip(cells, np.nan_to_num(column.values, nan=np.inf).tolist(), strict=True))
    frequent.sort(key=lambda cell: numbers.get(cell, np.inf))  # few numbers, such as stars: in their order, others after them
    codes = pd.Categorical(cells, categories=frequent).codes.astype(np.int32)
    others = len(counts) - len(frequent)
    ordered = int(np.isfinite([numbers.get(cell, np.inf) for cell in frequent]).sum())
    names, rest = [value or BLANK for value in frequent], f"{others:,} other values"
    return Categories(name, codes, names, rest, of_column=True, numbers=ordered)


def _scale(title: str, values: NDArray[np.floating], text: "pd.Series[str] | None" = None) -> ColourScale:
    """text: each row's value as written, if it is not a plain number."""
    finite = np.flatnonzero(np.isfinite(values))
    if not len(finite):
        return ColourScale(title, values.astype(np.float32), [])
    low, high = (finite[pick(values[finite])] for pick in (np.argmin, np.argmax))
    # Subtract the minimum: float32 would round dates, which are large numbers, to days.
    shifted = (values - values[low]).astype(np.float32)
    ends = dict.fromkeys([int(low), int(high)])
    ticks = [(float(shifted[row]), str(text.iloc[row]) if text is not None else f"{values[row]:.3g}") for row in ends]
    return ColourScale(title, shifted, ticks)
