"""The grid as csv, Markdown and LaTeX."""

import csv
import io

import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.export import as_csv, as_latex, as_markdown
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import OVERLAP, TF_IDF, Choice


@pytest.fixture(scope="module")
def grid(shared_bench, scored):
    data = DataSet("50 % a|b_c", scored)
    cells = {(name, 0): measure_cell(load_system(shared_bench, name, Choice()), data) for name in (TF_IDF, OVERLAP)}
    return Grid((TF_IDF, OVERLAP, "lost"), (data,), {**cells, ("lost", 0): "There is no model."})


def test_tables_escape_names_and_leave_out_what_has_no_figure(grid):
    rows = list(csv.DictReader(io.StringIO(as_csv(grid).lstrip("\ufeff"))))
    assert [row["system"] for row in rows] == [TF_IDF, OVERLAP]
    assert float(rows[0]["value"]) == pytest.approx(next(iter(grid)).value, abs=1e-6)
    lines = as_markdown(grid).splitlines()
    assert lines[0] == "| system | 50 % a&#124;b_c | mean |" and lines[-1] == "| lost | – | – |" and "**" in "".join(lines)
    latex = as_latex(grid)
    assert r"50 \% a|b\_c" in latex and latex.count(r"\\") == 4 and r"\begin{tabular}{lrr}" in latex
