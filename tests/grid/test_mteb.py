"""The figures of the grid are those of mteb, for the same vectors, on the app's own data; mteb reads the results that we write."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sbert_app.grid.cell import measure_cell
from sbert_app.grid.data_set import DataSet, PairSet
from sbert_app.grid.export import write_files
from sbert_app.grid.loading import load_system
from sbert_app.grid.ranking import Retrieval
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import OVERLAP, SBERT, TF_IDF, WORD_VECTORS, Choice
from sbert_app.labelled.queries import Queries
from sbert_app.settings import ASSETS
from tests.evaluating import own

pytest.importorskip("mteb", reason="mteb is not installed: it is in requirements-dev.txt")
from tests.grid import mteb_tasks

QUERIES = Path(__file__).parents[1] / "corpus" / "field_notes_queries.csv"
TOLERANCE = 1e-4
MEASURES = {  # of a task: ours, mteb's
    "scored": {"spearman": "cosine_spearman", "pearson": "cosine_pearson"},
    "labelled": {"average_precision": "cosine_ap"},  # mteb's best threshold is never one that calls all pairs alike, or none
    "retrieval": {name: name for name in ("ndcg_at_10", "mrr_at_10", "recall_at_100")},
}


def notes() -> DataSet:
    """40 questions about the field notes: the right note counts twice as much as others of its topic, season and difficulty."""
    rows, judged = (pd.read_csv(path) for path in (ASSETS / "examples" / "field_notes.csv", QUERIES))
    texts, kinds = rows["text"].tolist(), list(zip(rows["topic"], rows["season"], rows["difficulty"], strict=True))
    right = list(map(texts.index, judged["expected_text"]))
    alike = [{row: 1.0 for row, kind in enumerate(kinds) if kind == kinds[best]} for best in right]
    relevant = [{**gains, best: 2.0} for gains, best in zip(alike, right, strict=True)]
    return Retrieval("Field notes", Queries(judged["query"].tolist(), texts, relevant))


@pytest.mark.parametrize(
    ("data", "system"),
    [(own("Everyday pairs"), SBERT), (own("Hard instructions"), WORD_VECTORS), (notes(), WORD_VECTORS)],
    ids=lambda value: getattr(value, "task", None),
)
def test_measures_are_mtebs(shared_bench, tmp_path, data, system):
    loaded = load_system(shared_bench, system, Choice())
    expected = mteb_tasks.scores(loaded.embed, data, tmp_path)
    measured = measure_cell(loaded, data).measures
    for name, theirs in MEASURES[data.task].items():
        assert 0.1 < measured[name] < 0.99
        assert measured[name] == pytest.approx(expected[theirs], abs=TOLERANCE), name


def test_mteb_reads_our_results(shared_bench, tmp_path):
    from mteb import ResultCache
    from mteb.results import TaskResult

    everyday = own("Everyday pairs")
    pairs = everyday.examples.take(np.arange(1_379) % everyday.size)
    data_sets = (PairSet("stsb_test", pairs), own("Hard instructions"), notes(), own("Tickets by team"))
    systems = {name: load_system(shared_bench, name, Choice()) for name in (WORD_VECTORS, TF_IDF)}
    cells = {(name, n): measure_cell(system, data_sets[n]) for name, system in systems.items() for n in (0, 1)}
    cells[WORD_VECTORS, 2] = measure_cell(systems[WORD_VECTORS], data_sets[2])
    grid = Grid((*systems, OVERLAP), data_sets, {**cells, (OVERLAP, 0): "There is no figure."})
    assert write_files(grid, tmp_path) == 5
    read = [TaskResult.from_disk(path) for path in tmp_path.rglob("*.json") if path.name != "model_meta.json"]
    assert sorted(result.get_score() for result in read) == pytest.approx(sorted(cell.value for cell in cells.values()))
    table = ResultCache(tmp_path).load_results(include_remote=False).to_dataframe().set_index("task_name")
    assert set(table.index) == {"STSBenchmark", "Hard-instructions", "Field-notes"}  # the first is one of mteb's own
    (tf_idf,) = (name for name in table.columns if "tf-idf" in name)
    assert table.loc["STSBenchmark", tf_idf] == pytest.approx(cells[TF_IDF, 0].value)
    assert table.loc["Field-notes", tf_idf] != table.loc["Field-notes", tf_idf]  # not measured
