"""Examples that a system gets wrong, and examples on which two systems disagree."""

import numpy as np

from sbert_app.evaluation.weighted import Array
from sbert_app.grid.cell import Cell
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.tasks.task import Mistake


def mistakes(data: DataSet, cell: Cell, most: int) -> list[Mistake]:
    """The examples that are furthest from their right answer, worst first."""
    return _furthest(data, cell, _distances(data, cell), most)


def disagreements(data: DataSet, cell: Cell, other: Cell, most: int) -> list[Mistake]:
    """The examples on which the other system is closer to the right answer by most."""
    return _furthest(data, cell, _distances(data, cell) - _distances(data, other), most)


def _furthest(data: DataSet, cell: Cell, away: Array, most: int) -> list[Mistake]:
    predicted, order = cell.predicted.astype(np.float64), np.argsort(-away, kind="stable")[:most]
    return [data.content.example(predicted, int(row)) for row in order if away[row] > 0]


def _distances(data: DataSet, cell: Cell) -> Array:
    return data.content.distances(cell.predicted.astype(np.float64))
