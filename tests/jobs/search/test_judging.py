"""Judge hits by click, and measure the ways to rank by the file of the judgements."""

import csv
import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sbert_app.corpus.hits import MAXSIM as WORD_BY_WORD
from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell
from sbert_app.grid.loading import load_system
from sbert_app.grid.result import difference
from sbert_app.grid.systems import BM25, HYBRID, MAXSIM, SBERT, Choice
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.evaluate.grid import choose, fill_session, upload
from sbert_app.jobs.search.open_corpus import as_csv, judge, judgements
from tests.jobs.refusals import refused
from tests.searching import of_example, search

QUERIES = ("my kettle has white stuff inside", "how can I adapt to a different time zone after flying", "moss in the lawn")


@pytest.fixture
def session(shared_bench):
    return of_example(shared_bench, "field_notes.csv")


def test_a_grade_is_kept_changed_and_taken_back_and_belongs_to_its_corpus_and_visitor(shared_bench, session):
    judge(shared_bench, session, "moss", 3, 2)
    judge(shared_bench, session, "moss", 4, 0)
    judge(shared_bench, session, "rain", 3, 1)
    judge(shared_bench, session, "moss", 3, 1)
    assert judgements(session).of_query("moss") == {3: 1, 4: 0} and judgements(session).of_query("rain") == {3: 1}
    judge(shared_bench, session, "moss", 3, None)
    judge(shared_bench, session, "moss", 9, None)
    assert judgements(session).of_query("moss") == {4: 0}
    assert judgements(of_example(shared_bench, "field_notes.csv")).of_query("moss") == {}
    open_example(shared_bench, session, "support_tickets.csv")
    assert judgements(session).of_query("moss") == {}
    refused("Nothing is judged yet", as_csv, session)


def test_no_click_is_lost_when_many_come_at_once(shared_bench, session):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda row: judge(shared_bench, session, "moss", row, 1), range(1, 201)))
    finally:
        sys.setswitchinterval(before)
    assert len(judgements(session).of_query("moss")) == 200


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        ((" ", 1, 2), "The query is blank"), ((None, 1, 2), "The query must be text"), (("q", 0, 2), "row must be a whole number"),
        (("q", 1, 3), "grade must be a whole number in 0..2"), (("q", "1", 2), "row must be"), (("q", 1, "yes"), "grade must be"),
    ],
)  # fmt: skip
def test_what_nobody_clicks_is_refused(shared_bench, session, judged, message):
    with pytest.raises(UserError, match=message):
        judge(shared_bench, session, *judged)


def test_judged_hits_become_a_figure_for_each_way_to_rank(session, shared_bench, write):
    for query in QUERIES:
        for hit in search(shared_bench, session, query, 5).hits:
            judge(shared_bench, session, query, hit.row, 2 if hit.rank == 1 else 0)
    judge(shared_bench, session, "=moss", 1, 1)
    content = as_csv(session)
    records = list(csv.DictReader(io.StringIO(content.lstrip("\ufeff"))))
    assert (
        len(records) == 16 and list(records[0]) == ["query", "row", "relevance", "sentence"] and "tea urn" in records[0]["sentence"]
    )
    path = write("judgements.csv", content)
    data = upload(shared_bench, session, path, "judgements.csv")
    assert data.size == 4 and data.queries.queries[-1] == "=moss" and len(data.columns[1]) == 450
    grid = choose(shared_bench, session, [SBERT, BM25, HYBRID, MAXSIM], ["judgements"])
    grid = [step.result for step in fill_session(shared_bench, session, grid, Choice())][-1]
    assert all(isinstance(cell, Cell) for cell in grid.cells.values()) and grid.complete
    word_by_word, bm25 = grid.cells[MAXSIM, 0], grid.cells[BM25, 0]
    assert word_by_word.predicted[:3].tolist() == [1, 1, 1] and word_by_word.value > bm25.value
    assert set(word_by_word.intervals) == {"ndcg_at_10", "mrr_at_10", "recall_at_100"}
    assert difference(word_by_word, bm25).low <= difference(word_by_word, bm25).value


def test_the_grid_ranks_as_search_does(session, shared_bench, write):
    for query in QUERIES:
        judge(shared_bench, session, query, 1, 1)
    data = upload(shared_bench, session, write("j.csv", as_csv(session)), "j.csv").queries
    rankings = load_system(shared_bench, MAXSIM, Choice()).rank(data)
    for query, rows in zip(QUERIES, rankings, strict=True):
        hits = search(shared_bench, session, query, 20, {}, WORD_BY_WORD).hits
        assert [hit.row for hit in hits][:10] == (rows[:10] + 1).tolist()
