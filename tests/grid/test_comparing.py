"""What may be compared over a grid: speeds on the same examples in one unit, means of one measure, and what a set is made for."""

from dataclasses import replace

import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.export import as_latex, as_markdown
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import own_data_sets
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import BM25, CROSS, OVERLAP, SBERT, Choice
from sbert_app.settings import Limits
from sbert_app.ui.evaluation import grid_view
from sbert_app.ui.evaluation.below_view import chart

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


def test_speeds_are_of_the_same_examples_in_one_unit(grid):
    assert grid.unit == "pairs" and grid.speed(SBERT) == grid.speed(CROSS) == 120
    page = grid_view.grid(grid, Choice())
    assert "pairs a second" in page and "sentences a second" not in page and "extrapolated" in page


def test_all_against_all_is_each_sentence_once_or_every_pair(grid):
    assert grid.all_pairs_seconds(SBERT) == pytest.approx(10_000 / 240)
    assert grid.all_pairs_seconds(CROSS) == pytest.approx(49_995_000 / 120)
    page = grid_view.grid(grid, Choice())
    assert "42 seconds" in page and "4 days 20 hours" in page
    figure = chart(grid)
    names = dict(zip(figure.data[1].text, figure.data[1].x, strict=True))
    assert names["SBERT"] / names["Cross-encoder"] == pytest.approx(10_000, rel=0.01)
    assert "extrapolated" in figure.layout.xaxis.title.text


def test_triplets_are_two_pairs_for_a_cross_encoder_and_three_sentences_apart(cell):
    both = {
        (SBERT, 0): replace(cell, apart=True, sentences=300, seconds=1.0),
        (CROSS, 0): replace(cell, sentences=300, seconds=1.0),
    }
    grid = Grid((SBERT, CROSS), (MESSAGES,), both)
    assert grid.unit == "triplets" and grid.speed(CROSS) == 100
    assert grid.all_pairs_seconds(SBERT) == pytest.approx(10_000 / 300)
    assert grid.all_pairs_seconds(CROSS) == pytest.approx(49_995_000 / 200)


def test_a_system_that_was_not_timed_on_the_common_sets_has_no_speed(grid):
    with_ranker = replace(grid, systems=(SBERT, CROSS, BM25))
    assert with_ranker.speed(BM25) == 0 and with_ranker.all_pairs_seconds(BM25) is None


def test_a_mean_is_of_one_measure_only(cell):
    """Three figures of one system: Spearman, accuracy, Spearman."""
    values = dict(zip((0, 1, 2), (0.8, 0.6, 0.4), strict=True))
    grid = Grid((SBERT,), (EVERYDAY, TICKETS, REQUESTS), {(SBERT, n): replace(cell, value=value) for n, value in values.items()})
    assert grid.means() == {SBERT: pytest.approx(0.6)} and [grid.data_sets[n].name for n in grid.like] == [
        EVERYDAY.name,
        REQUESTS.name,
    ]
    page = grid_view.grid(grid, Choice())
    assert "Mean<small>Spearman, 2 of 3 sets</small>" in page and "60.0" in page
    assert "mean of 2" in as_markdown(grid).splitlines()[0] and "mean of 2" in as_latex(grid)


def test_without_two_sets_of_one_measure_there_is_no_mean_and_that_is_said(grid):
    page = grid_view.grid(grid, Choice())
    assert ">Mean<" not in page and "mean" not in as_markdown(grid) + as_latex(grid)
    assert "No mean: no two data sets have the same measure and a figure of every system." in grid_view.in_words(grid)
    assert chart(grid).layout.yaxis.title.text == "Spearman × 100, Everyday pairs"


def test_a_set_that_is_made_for_fine_tune_says_so(cell):
    grid = Grid((SBERT,), (EVERYDAY, REQUESTS), {(SBERT, n): cell for n in range(2)})
    page, words = grid_view.grid(grid, Choice()), grid_view.in_words(grid)
    assert page.count("made for Fine-tune") == 1
    assert words.count("Hard requests asks for another notion of likeness") == 1 and "Everyday pairs asks" not in words
    assert all(data.purpose for data in (REQUESTS, MESSAGES, INSTRUCTIONS))
