"""Examples that a system gets wrong, and examples on which two systems disagree."""

from dataclasses import dataclass

import numpy as np

from sbert_app.evaluation.movers import rank_shares
from sbert_app.evaluation.weighted import Array
from sbert_app.grid.cell import Cell
from sbert_app.grid.data_sets import DataSet
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.queries import Queries

SHORT = 160  # characters of a sentence in a list


@dataclass(frozen=True)
class Mistake:
    """An example: its sentences, shortened, the right answer and the system's, both in words."""

    sentences: tuple[str, ...]
    expected: str
    given: str


def mistakes(data: DataSet, cell: Cell, most: int) -> list[Mistake]:
    """The examples that are furthest from their right answer, worst first."""
    away = distances(data, cell)
    order = np.argsort(-away, kind="stable")[:most]
    return [_mistake(data, cell, int(row)) for row in order if away[row] > 0]


def disagreements(data: DataSet, cell: Cell, other: Cell, most: int) -> list[Mistake]:
    """The examples on which the other system is closer to the right answer by most."""
    away = distances(data, cell) - distances(data, other)
    order = np.argsort(-away, kind="stable")[:most]
    return [_mistake(data, cell, int(row)) for row in order if away[row] > 0]


def distances(data: DataSet, cell: Cell) -> Array:
    """How far each example is from its right answer, (n,), 0..1 of the ranking; of triplets and classes how wrong it is."""
    predicted = cell.predicted.astype(np.float64)
    if isinstance(data.content, Queries):
        return 1 - predicted
    if not isinstance(data.content, Examples):
        return np.where(predicted == data.content.targets[data.tested], 0.0, 1.0)
    if data.task in ("triplets", "positives"):
        return np.maximum(0.0, -predicted)
    return np.abs(rank_shares(predicted) - rank_shares(data.content.gold))


def _mistake(data: DataSet, cell: Cell, row: int) -> Mistake:
    if isinstance(data.content, Queries):
        relevant = data.content.relevant[row]
        best = max(relevant, key=lambda document: relevant[document])
        given = f"nDCG@10 {100 * cell.predicted[row]:.0f}"
        return Mistake((_short(data.content.queries[row]),), _short(data.content.documents[best]), given)
    if not isinstance(data.content, Examples):
        content, position = data.content, data.tested[row]
        right, given = content.classes[content.targets[position]], content.classes[int(cell.predicted[row])]
        return Mistake(tuple(_short(column[position]) for column in content.columns), right, given)
    sentences = tuple(_short(column[row]) for column in data.content.sentences)
    return Mistake(sentences, _expected(data.content, row), _given(data, cell, row))


def _expected(examples: Examples, row: int) -> str:
    if examples.kind == "scored":
        low, high = examples.score_range
        return f"{low + (high - low) * examples.targets[row]:.3g} of {high:g}: {_place(examples.gold, row)}"
    return examples.labels[int(examples.targets[row])] if examples.kind == "labelled" else "the first partner is closer"


def _given(data: DataSet, cell: Cell, row: int) -> str:
    if data.task in ("triplets", "positives"):
        return f"the other is closer by {-cell.predicted[row]:.2f}" if cell.predicted[row] <= 0 else "the first is closer"
    return _place(cell.predicted.astype(np.float64), row)


def _place(values: Array, row: int) -> str:
    return f"closer than {100 * rank_shares(values)[row]:.0f} %"


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
