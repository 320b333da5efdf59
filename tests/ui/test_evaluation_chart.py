"""The chart of quality by speed: every system is a point, and names that would lie on each other lie apart."""

from dataclasses import replace

import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import OVERLAP, SBERT, SYSTEMS, Choice
from sbert_app.ui.evaluation.below_view import chart


@pytest.fixture(scope="module")
def cell(shared_bench, scored):
    return measure_cell(load_system(shared_bench, OVERLAP, Choice()), PairSet("scored", scored))


def drawn(cell, scored, points):
    """The points of a chart of systems with these values and seconds."""
    names = list(SYSTEMS)[: len(points)]
    cells = {
        (name, 0): replace(cell, value=value, sentences=1_000, seconds=seconds)
        for name, (value, seconds) in zip(names, points, strict=True)
    }
    return chart(Grid(tuple(names), (PairSet("scored", scored),), cells)).data[1]


def test_names_of_near_points_lie_apart(cell, scored):
    near = drawn(cell, scored, [(0.80, 1.0), (0.802, 1.01), (0.798, 1.02), (0.2, 0.01)])
    assert len(set(near.textposition)) == 4 and len(near.x) == 4


def test_names_of_far_points_lie_above_to_the_right_but_not_over_the_edge(cell, scored):
    far = drawn(cell, scored, [(0.9, 1.0), (0.5, 0.01), (0.1, 0.0001)])
    assert list(far.textposition) == ["top right", "top right", "bottom left"]


def test_the_line_joins_the_systems_that_no_other_beats(cell, scored):
    cells = {
        (SBERT, 0): replace(cell, value=0.9, sentences=100, seconds=1.0),
        (OVERLAP, 0): replace(cell, value=0.5, sentences=900, seconds=1.0),
        ("tf-idf", 0): replace(cell, value=0.4, sentences=500, seconds=1.0),
    }
    figure = chart(Grid((SBERT, OVERLAP, "tf-idf"), (PairSet("scored", scored),), cells))
    assert list(figure.data[0].y) == [90.0, 50.0] and len(figure.data[1].x) == 3
