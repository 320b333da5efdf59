"""The number of hits counts texts: rows that repeat one are told on its hit, however many. All above a score are given."""

import numpy as np
import pytest

from sbert_app.corpus.hits import RANKINGS
from sbert_app.errors import UserError
from sbert_app.jobs.search import job, ranked_hits
from sbert_app.tables import read_table
from sbert_app.ui.search.view import hit_records
from sbert_app.wording import amount
from tests.searching import indexed, search

TOPICS = "refund parcel password invoice printer keyboard battery screen".split()


@pytest.fixture(scope="module")
def searched(shared_bench):
    """Eight texts of a column, the first of them in 90 rows, the others in five."""
    return indexed(shared_bench, [f"Please help with my {topic}" for topic in [TOPICS[0]] * 89 + TOPICS * 5])


@pytest.fixture(scope="module")
def in_teams(shared_bench, tmp_path_factory):
    """24 rows of four texts, each twice in every one of three teams."""
    path = tmp_path_factory.mktemp("corpus") / "a.csv"
    path.write_text("text,team\n" + "".join(f"Please help with my {TOPICS[i % 4]},{i % 3}\n" for i in range(24)))
    return indexed(shared_bench, read_table(path, shared_bench.settings.limits))


@pytest.mark.parametrize("ranking", RANKINGS)
def test_so_many_texts_are_found_as_are_asked_for_though_rows_repeat(shared_bench, searched, ranking):
    hits = search(shared_bench, searched, "help with a refund please", 6, ranking=ranking).hits
    assert len({hit.sentence for hit in hits}) == len(hits) == 6 and [hit.rank for hit in hits] == [1, 2, 3, 4, 5, 6]
    assert hits[0].sentence.endswith("refund") and hits[0].copies == 93
    assert len({hits[0].row, *hits[0].copy_rows}) == 11
    assert [hit.copies for hit in hits[1:]] == [4] * 5


def test_copies_and_all_above_a_cosine_are_counted_among_the_rows_that_fit_the_filters(shared_bench, in_teams, monkeypatch):
    all_above = job.SearchOptions("refund", filters={"team": "0"}, least=-1.0)
    for result in (search(shared_bench, in_teams, "refund", 10, {"team": "0"}), job.search(shared_bench, in_teams, all_above)):
        assert [hit.copies for hit in result.hits] == [1, 1, 1, 1]
        saved = [record for hit in result.hits for record in hit_records(hit, result.repeats[hit.row])]
        assert sorted(record["row"] for record in saved) == list(range(1, 25, 3))
        assert {record["team"] for record in saved} == {"0"}
    monkeypatch.setattr(ranked_hits, "MOST_ROWS", 7)
    with pytest.raises(UserError, match="8 rows have a cosine of at least -1, more than the 7"):
        job.search(shared_bench, in_teams, all_above)


def test_a_text_in_very_many_rows_is_saved_in_the_first_of_them(shared_bench, searched, monkeypatch):
    monkeypatch.setattr(ranked_hits, "MOST_REPEATS", 95)
    result = search(shared_bench, searched, "help with a refund please", 6)
    assert [len(repeats) for repeats in result.repeats.values()] == [93, 2] and result.hits[0].row in result.repeats


def test_above_a_cosine_is_every_row_that_has_it(shared_bench, searched, monkeypatch):
    monkeypatch.setattr(ranked_hits, "MOST_REPEATS", 1)  # what holds for the best hits
    indexed, query = searched.corpus(), "help with a refund please"
    vector, _ = ranked_hits.encode_query(shared_bench.device, query, shared_bench.registry.encoder())
    cosines = indexed.embeddings @ vector
    different = np.unique(cosines.round(4))
    for least in (-1.0, *((different[1:] + different[:-1]) / 2).tolist(), 1.0):
        result = job.search(shared_bench, searched, job.SearchOptions(query, top=1, least=least))
        rows = [record["row"] for hit in result.hits for record in hit_records(hit, result.repeats.get(hit.row, ()))]
        assert sorted(rows) == (indexed.corpus.rows[cosines >= least]).tolist()
        assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
        texts = f"{amount(len(result.hits), 'text')} in {len(rows)} rows" if rows else "0"
        assert result.counted(least) == f"{texts} of 129 have a cosine of at least {least:g} with “{query}”."


@pytest.mark.parametrize("other", [{"rerank": True}, {"hybrid": True}, {"ranking": "words"}])
def test_a_least_cosine_goes_with_no_other_ranking(shared_bench, searched, other):
    with pytest.raises(UserError, match="leave the other out"):
        job.search(shared_bench, searched, job.SearchOptions("refund", least=0.5, **other))
