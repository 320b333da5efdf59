"""What may be compared over a grid: speeds in one unit, means of one measure, quality by speed in a chart whose names lie apart."""

from dataclasses import replace

import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.export import as_latex, as_markdown
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import own_data_sets
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import BM25, CROSS, OVERLAP, SBERT, SYSTEMS, Choice
from sbert_app.settings import Limits
from sbert_app.ui.evaluation import grid_view
from sbert_app.ui.evaluation.below_view import chart, errors

EVERYDAY, TICKETS, NOTES, REQUESTS, MESSAGES, INSTRUCTIONS = own_data_sets(Limits())


@pytest.fixture(scope="module")
def cell(shared_bench, scored):
    return measure_cell(load_system(shared_bench, OVERLAP, Choice()), PairSet("scored", scored))


@pytest.fixture(scope="module")
def grid(cell):
    """SBERT is slow on tickets, which the cross-encoder cannot read; on the 120 pairs both take a second."""
    sbert = replace(cell, system=SBERT, apart=True, value=0.8, sentences=240, seconds=1.0)
    cross = replace(cell, system=CROSS, apart=False, value=0.9, sentences=240, seconds=1.0)
    tickets = replace(sbert, value=0.7, sentences=926, seconds=100.0)
    return Grid((SBERT, CROSS), (EVERYDAY, TICKETS), {(SBERT, 0): sbert, (CROSS, 0): cross, (SBERT, 1): tickets, (CROSS, 1): "no"})


def test_speeds_are_of_the_same_examples_in_one_unit_and_all_against_all_is_each_sentence_once_or_every_pair(grid):
    assert grid.unit == "pairs" and grid.speed(SBERT) == grid.speed(CROSS) == 120
    with_ranker = replace(grid, systems=(SBERT, CROSS, BM25))  # which was not timed on these
    assert with_ranker.speed(BM25) == 0 and with_ranker.all_pairs_seconds(BM25) is None
    assert grid.all_pairs_seconds(SBERT) == pytest.approx(10_000 / 240)
    assert grid.all_pairs_seconds(CROSS) == pytest.approx(49_995_000 / 120)
    page = grid_view.grid(grid, Choice())
    assert "pairs a second" in page and "sentences a second" not in page and "extrapolated" in page
    assert "42 seconds" in page and "4 days 20 hours" in page
    figure = chart(grid, Choice())
    names = dict(zip(figure.data[1].text, figure.data[1].x, strict=True))
    assert names["all-MiniLM-L6-v2"] / names["Cross-encoder"] == pytest.approx(10_000, rel=0.01)
    assert "extrapolated" in figure.layout.xaxis.title.text


def test_triplets_are_two_pairs_for_a_cross_encoder_and_three_sentences_apart(cell):
    timed = replace(cell, sentences=300, seconds=1.0)
    grid = Grid((SBERT, CROSS), (MESSAGES,), {(SBERT, 0): replace(timed, apart=True), (CROSS, 0): timed})
    assert grid.unit == "triplets" and grid.speed(CROSS) == 100
    assert grid.all_pairs_seconds(SBERT) == pytest.approx(10_000 / 300)
    assert grid.all_pairs_seconds(CROSS) == pytest.approx(49_995_000 / 200)


def test_a_mean_is_of_one_measure_only(cell):
    """Three figures of one system: Spearman, accuracy, Spearman."""
    cells = {(SBERT, n): replace(cell, value=value) for n, value in enumerate((0.8, 0.6, 0.4))}
    grid = Grid((SBERT,), (EVERYDAY, TICKETS, REQUESTS), cells)
    assert grid.means() == {SBERT: pytest.approx(0.6)} and grid.like == [0, 2]
    page = grid_view.grid(grid, Choice())
    assert "Mean<small>Spearman, 2 of 3 sets</small>" in page and "60.0" in page
    assert "mean of 2" in as_markdown(grid).splitlines()[0] and "mean of 2" in as_latex(grid)


def test_without_two_sets_of_one_measure_there_is_no_mean_and_that_is_said(grid):
    page = grid_view.grid(grid, Choice())
    assert ">Mean<" not in page and "mean" not in as_markdown(grid) + as_latex(grid)
    assert "No mean: no two data sets have the same measure and a figure of every system." in grid_view.in_words(grid, Choice())
    assert chart(grid, Choice()).layout.yaxis.title.text == "Spearman × 100, Everyday pairs"


def test_a_set_that_is_made_for_fine_tune_says_so(cell):
    grid = Grid((SBERT,), (EVERYDAY, REQUESTS), {(SBERT, n): cell for n in range(2)})
    page, words = grid_view.grid(grid, Choice()), grid_view.in_words(grid, Choice())
    assert page.count("made for Fine-tune") == 1
    assert words.count("Hard requests asks for another notion of likeness") == 1 and "Everyday pairs asks" not in words
    assert all(data.purpose for data in (REQUESTS, MESSAGES, INSTRUCTIONS))


def drawn(cell, points):
    """The line and the points of a chart of systems with these values and seconds."""
    names = list(SYSTEMS)[: len(points)]
    cells = [replace(cell, value=value, sentences=1_000, seconds=seconds) for value, seconds in points]
    grid = Grid(tuple(names), (EVERYDAY,), {(name, 0): each for name, each in zip(names, cells, strict=True)})
    return chart(grid, Choice()).data


def test_names_of_near_points_lie_apart_those_of_far_ones_above_to_the_right_but_not_over_the_edge(cell):
    _, near = drawn(cell, [(0.80, 1.0), (0.802, 1.01), (0.798, 1.02), (0.2, 0.01)])
    assert len(set(near.textposition)) == 4 and len(near.x) == 4
    _, far = drawn(cell, [(0.9, 1.0), (0.5, 0.01), (0.1, 0.0001)])
    assert list(far.textposition) == ["top right", "top right", "bottom left"]


def test_the_line_joins_the_systems_that_no_other_beats(cell):
    line, points = drawn(cell, [(0.9, 0.09), (0.5, 0.01), (0.4, 0.02)])
    assert list(line.y) == [90.0, 50.0] and len(points.x) == 3


def test_the_header_s_model_is_called_by_its_name(cell):
    """Beside the model that it was made from, "SBERT" would be either."""
    values = {SBERT: 0.9, "all-MiniLM-L6-v2": 0.5, "sbert-cls": 0.2}
    sure = {name: replace(cell, value=value, samples=cell.samples * 0 + value) for name, value in values.items()}
    grid, mine = Grid((*values,), (EVERYDAY,), {(name, 0): each for name, each in sure.items()}), Choice("mine")
    assert "mine is best, 40.0 ahead of all-MiniLM-L6-v2" in grid_view.in_words(grid, mine)
    assert set(chart(grid, mine).data[1].text) == {"mine", "all-MiniLM-L6-v2", "mine, CLS pooling"}
    texts = grid_view.in_words(grid, mine), errors(grid, mine, (SBERT, 0)), grid_view.stage(grid, mine, (SBERT, 0), "")
    assert not any("SBERT" in text for text in texts)


def test_only_a_grid_that_is_filled_shows_its_empty_cells_as_waiting(cell):
    grid = Grid((SBERT, OVERLAP), (EVERYDAY,), {(OVERLAP, 0): cell})
    assert "pending" in grid_view.grid(replace(grid, cells={}), Choice(), (SBERT, 0))
    stopped = grid_view.grid(grid, Choice())
    assert "pending" not in stopped and "Not measured" in stopped
