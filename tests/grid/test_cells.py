"""Figures of cells: measures as libraries compute them, intervals from paired resamples, kept on disk by content."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from sbert_app.grid.cell import CellStore, measure_cell, mistakes
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import read_data_set
from sbert_app.grid.result import Grid, difference
from sbert_app.grid.systems import OVERLAP, TF_IDF, Choice, System
from sbert_app.settings import Limits
from sbert_app.tables import read_table

NOISE = np.random.default_rng(0)


@pytest.fixture(scope="module")
def pairs(scored):
    return PairSet("scored", scored)


def made(name: str, scores) -> System:
    return System(name, name, name, lambda examples, _: np.asarray(scores, np.float64))


@pytest.fixture(scope="module")
def cells(pairs):
    """A system that knows the answers but for noise, one that knows less, and one that guesses."""
    gold = pairs.examples.gold
    noise = {"good": 0.05, "fair": 0.2, "guess": 50.0}
    return {name: measure_cell(made(name, gold + NOISE.normal(0, sigma, len(gold))), pairs) for name, sigma in noise.items()}


def test_the_figure_is_the_librarys_and_lies_in_its_interval(pairs, cells):
    for cell in cells.values():
        assert cell.value == pytest.approx(spearmanr(cell.predicted, pairs.examples.gold).statistic, abs=1e-6)
        assert cell.low < cell.value < cell.high and cell.sentences == 240


def test_a_difference_is_paired_so_it_is_surer_than_two_intervals(cells):
    ahead = difference(cells["good"], cells["fair"])
    assert 0 < ahead.low < ahead.value < ahead.high < cells["good"].high - cells["fair"].low
    assert difference(cells["good"], cells["good"]).high == 0


def test_best_and_what_may_be_as_good_by_chance(pairs, cells):
    twin = replace(cells["good"], value=cells["good"].value - 1e-4, samples=cells["good"].samples[::-1])
    grid = Grid(("guess", "good", "twin", "none"), (pairs,), {(n, 0): c for n, c in {**cells, "twin": twin}.items() if n != "fair"})
    assert grid.level(0) == ["good", "twin"] and list(grid.figures(0)) == ["good", "twin", "guess"]
    assert grid.common == [0] and set(grid.means()) == {"guess", "good", "twin"} and not grid.complete
    assert grid.seconds_left() is None
    few = PairSet("few", pairs.examples.take(np.arange(19)))
    assert grid.is_small(0) is False and replace(grid, data_sets=(few,)).level(0) == ["good", "twin", "guess"]
    assert few.amount == "19 pairs"


def test_mistakes_come_worst_first_and_disagreements_favour_the_other(pairs, cells):
    (worst, *_) = mistakes(pairs, cells["guess"], 3)
    assert worst.expected.split()[0] in {f"{5 * gold:.3g}" for gold in pairs.examples.gold} and "closer than" in worst.given
    assert len(mistakes(pairs, cells["guess"], 4, better=cells["good"])) == 4
    assert not mistakes(pairs, cells["guess"], 4, better=cells["guess"])


def test_a_cell_is_kept_by_content_and_a_damaged_one_is_forgotten(tmp_path, pairs, shared_bench):
    store, system = CellStore(tmp_path / "cells"), load_system(shared_bench, TF_IDF, Choice())
    cell = measure_cell(system, pairs)
    assert store.get(system, pairs) is None
    store.put(system, pairs, cell)
    renamed = replace(pairs, name="renamed")
    again = CellStore(tmp_path / "cells").get(system, renamed)
    assert again == replace(cell, data_set="renamed") and (again.samples == cell.samples).all()
    assert store.get(made("other", pairs.examples.gold), pairs) is None
    (file,) = (tmp_path / "cells").iterdir()
    file.write_bytes(file.read_bytes()[:-100])
    assert store.get(system, pairs) is None and not file.exists()
    CellStore(None).put(system, pairs, cell)
    assert CellStore(None).get(system, pairs) is None


def test_subsets_have_figures_of_their_own(write, shared_bench):
    animals, kinds = ("dog", "cat", "cat"), ("even", "odd")
    rows = [f"the cat number {i}\tthe {animals[i % 3]} number {i}\t{i % 5}\t{kinds[i % 2]}\n" for i in range(24)]
    table = read_table(write("a.tsv", "sentence1\tsentence2\tscore\tsubset\n" + "".join(rows)), Limits())
    data = read_data_set(table, Limits())
    cell = measure_cell(load_system(shared_bench, OVERLAP, Choice()), data)
    odd = np.arange(1, 24, 2)
    expected = spearmanr(cell.predicted[odd], data.examples.gold[odd]).statistic
    assert list(cell.subsets) == ["even", "odd"] and cell.subsets["odd"] == pytest.approx(expected, abs=1e-6)
