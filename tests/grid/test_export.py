"""The grid as csv, Markdown, LaTeX, and as the files of mteb's results."""

import csv
import io
import json
import zipfile
from dataclasses import replace

import pytest

from sbert_app.errors import UserError
from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import PairSet
from sbert_app.grid.export import as_csv, as_files, as_latex, as_markdown, as_zip, check_known, write_files
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import OVERLAP, TF_IDF, Choice
from sbert_app.wording import times_100
from tests.evaluating import own


@pytest.fixture(scope="module")
def grid(shared_bench, scored):
    data = PairSet("50 % a|b_c", scored)
    cells = {(name, 0): measure_cell(load_system(shared_bench, name, Choice()), data) for name in (TF_IDF, OVERLAP)}
    return Grid((TF_IDF, OVERLAP, "lost"), (data,), {**cells, ("lost", 0): "There is no model."})


def test_tables_escape_names_and_leave_out_what_has_no_figure(grid):
    rows = list(csv.DictReader(io.StringIO(as_csv(grid).lstrip("\ufeff"))))
    assert [row["system"] for row in rows] == [TF_IDF, OVERLAP]
    assert float(rows[0]["value"]) == pytest.approx(grid.measured[TF_IDF, 0].value, abs=1e-6)
    lines = as_markdown(grid).splitlines()
    assert lines[0] == "| system | 50 % a&#124;b_c |" and "| lost | – |" in lines and "**" in "".join(lines)
    cell = grid.measured[OVERLAP, 0]
    assert f"({times_100(cell.low)} to {times_100(cell.high)})" in as_markdown(grid)
    latex = as_latex(grid)
    assert f"(${100 * cell.low:.1f}$--${100 * cell.high:.1f}$)" in latex and "−" not in latex, "pdflatex knows no minus sign"
    assert r"50 \% a|b\_c" in latex and latex.count(r"\\" + "\n") == 4 and r"\begin{tabular}{lr}" in latex


def test_files_for_mteb_are_named_by_system_and_data_set(grid):
    twin = replace(grid.data_sets[0], name="50 a b_c")
    both = replace(grid, data_sets=(*grid.data_sets, twin), cells={**grid.cells, (OVERLAP, 1): grid.cells[OVERLAP, 0]})
    files = as_files(both)
    folder = "results/sbert-studio__word-overlap-Jaccard/no_revision_available"
    assert {path.split("/")[-1] for path in files if path.startswith(folder)} == {
        "model_meta.json", "50-a-b_c.json", "50-a-b_c_2.json",
    }  # fmt: skip
    assert len({path.split("/")[1] for path in files}) == 2 and not any("lost" in path for path in files)
    result = json.loads(files[f"{folder}/50-a-b_c.json"])
    (scores,) = result["scores"]["test"]
    assert scores["main_score"] == scores["spearman"] == grid.cells[OVERLAP, 0].value and "pearson" in scores
    assert result["dataset_revision"] == grid.data_sets[0].digest and result["task_name"] == "50-a-b_c"


def test_the_zip_for_mteb_holds_the_files_and_depends_on_them_only(grid, tmp_path):
    files = as_files(grid)
    packed = as_zip(files)
    assert packed == as_zip(dict(reversed(files.items())))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == files
    assert write_files(grid, tmp_path / "new") == 2
    assert {path.relative_to(tmp_path / "new").as_posix() for path in (tmp_path / "new").rglob("*.json")} == set(files)
    assert write_files(replace(grid, cells={}), tmp_path) == 0
    classes = own("Tickets by team")
    check_known(replace(grid, data_sets=(classes, *grid.data_sets)))
    with pytest.raises(UserError, match="mteb has no such figures"):
        check_known(replace(grid, data_sets=(classes,)))
