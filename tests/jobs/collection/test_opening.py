"""Opening a collection: its sample is the corpus, its id one that other jobs take; mistakes are a sentence, what was open stays."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from sbert_app.collections.collection import Facts
from sbert_app.collections.opened import OpenCollection, row_names
from sbert_app.corpus.indexed import DENSE, HYBRID, IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.jobs import open_collection as job
from sbert_app.jobs.corpus.job import index_again
from sbert_app.jobs.corpus.opening import open_example, read_lines
from sbert_app.jobs.duplicates.overlap import compare_file
from sbert_app.jobs.open_collection import listed, open_address, open_key
from sbert_app.jobs.search.open_corpus import judge, offered
from sbert_app.runtime.workbench import Workbench
from sbert_app.settings import Settings
from sbert_app.ui.app import build_app
from tests.jobs.collection.made import make, tickets
from tests.jobs.refusals import refused
from tests.searching import explain as why_not
from tests.searching import more_like, search


@pytest.fixture
def opened(shared_bench, session, folder):
    """The collection, open in the session."""
    return open_address(shared_bench, session, str(folder))


def test_a_collection_opens_with_a_sample_that_needs_no_encoding(shared_bench, session, folder, app_encoder, monkeypatch):
    monkeypatch.setattr(app_encoder, "encode", None)
    opened = open_address(shared_bench, session, str(folder))
    indexed = session.get(IndexedCorpus)
    assert opened.rows == 200 and opened.name == "tickets" and indexed is opened.sample
    assert indexed.corpus.sentences == [row["text"] for row in tickets(200)]
    assert indexed.corpus.rows.tolist() == list(range(1, 201)) and indexed.corpus.name == "tickets"
    assert np.allclose(np.linalg.norm(indexed.embeddings, axis=1), 1, atol=1e-5)
    assert list(indexed.corpus.metadata.columns) == [column for column in tickets(1)[0] if column != "text"]


@pytest.mark.parametrize("meanwhile", ["evicted", "another corpus"])
def test_a_collection_that_cannot_be_kept_is_closed(shared_bench, session, folder, monkeypatch, meanwhile):
    closed, read = [], job.read_sample

    def read_and_be_overtaken(name, key, collection, rows):
        monkeypatch.setattr(collection, "close", lambda: closed.append(key))
        if meanwhile == "evicted":
            shared_bench.sessions._sessions.pop(session.id).close()
        else:
            open_example(shared_bench, session, "field_notes.csv")
        return read(name, key, collection, rows)

    monkeypatch.setattr(job, "read_sample", read_and_be_overtaken)
    with pytest.raises(UserError, match="session has ended" if meanwhile == "evicted" else "another corpus was opened meanwhile"):
        open_address(shared_bench, session, str(folder))
    assert len(closed) == 1 and session.get(OpenCollection) is None


@pytest.fixture
def sampled(shared_bench, session, folder, monkeypatch):
    """The collection, open in the session with only three rows in memory."""
    monkeypatch.setattr("sbert_app.collections.opened.MOST_SAMPLED", 3)
    return open_address(shared_bench, session, str(folder))


def test_search_finds_rows_outside_the_sample(shared_bench, session, sampled):
    corpus = sampled.sample.corpus
    assert corpus.name == "tickets: sample of 3 of 200 rows" and len(corpus) == 3 and corpus.rows.max() > 3 and sampled.is_sampled
    text = tickets(200)[150]["text"]
    for ranking in ("", DENSE):
        result = search(shared_bench, session, text, 5, ranking=ranking)
        assert result.hits[0].sentence == text and len(result.hits) == 5 and result.searched == 200
        assert result.store is not None and result.store.name == "tickets" and result.store.kind == "exact"
        assert "store" in result.milliseconds
    assert result.hits[0].row == 151 and result.hits[0].metadata["team"] == tickets(200)[150]["team"]
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)


def test_filters_are_those_of_the_store(shared_bench, session, sampled):
    choices = offered(shared_bench, session)
    columns = {column.name: column for column in choices.columns}
    assert {name for name, column in columns.items() if column.values} <= {"team", "product", "priority"}
    assert {"text", "date"} <= set(columns)
    result = search(shared_bench, session, "login", 200, {"team": ["Billing"]})
    billing = [row for row in tickets(200) if row["team"] == "Billing"]
    assert len(result.hits) == len(billing) and {hit.metadata["team"] for hit in result.hits} == {"Billing"}
    assert result.store.filtered
    refused("There is no column 'nowhere'", search, shared_bench, session, "login", 5, {"nowhere": "a"})


def test_more_like_this_leaves_the_row_itself_out(shared_bench, session, sampled):
    result = more_like(shared_bench, session, 120, 5)
    assert result.query == tickets(200)[119]["text"] and 120 not in {hit.row for hit in result.hits} and len(result.hits) == 5
    refused("The collection has no such row any more", more_like, shared_bench, session, 4_000, 5)
    refused("must be a whole number", more_like, shared_bench, session, -1, 5)


def test_rows_of_several_files_are_called_by_their_file(shared_bench, session, tmp_path, app_encoder):
    make(tmp_path / "two", app_encoder, 60, ("a.csv", "b.csv"))
    opened = open_address(shared_bench, session, str(tmp_path / "two"))
    corpus = opened.sample.corpus
    assert corpus.metadata["file"].value_counts().to_dict() == {"a.csv": 30, "b.csv": 30}
    text = tickets(60)[33]["text"]
    hit = search(shared_bench, session, text, 1, ranking=DENSE).hits[0]
    assert (hit.place, corpus.row_label(hit.row)) == ("17 of b.csv", "17 of b.csv")
    assert more_like(shared_bench, session, hit.row, 1).query == text
    assert "file" not in offered(shared_bench, session).columns


def test_word_by_word_says_which_words_met_and_ways_to_rank_by_words_are_refused(shared_bench, session, opened):
    hits = search(shared_bench, session, "charged two times", 3).hits
    assert all(hit.maxsim is not None and hit.bm25 is None for hit in hits)
    assert {"charged", "two", "times"} & {match.query_word for match in hits[0].matches}
    assert list(offered(shared_bench, session).rankings) == ["maxsim", "dense"]
    for ranking in (HYBRID, "words"):
        refused("A collection is ranked by meaning", search, shared_bench, session, "x", ranking=ranking)


def test_what_needs_all_rows_is_refused_in_a_sentence(shared_bench, session, opened):
    refusal = "needs all rows in memory; of 'tickets' only a sample is"
    refused(refusal, why_not, shared_bench, session, "a", "1")
    refused(refusal, judge, shared_bench, session, "a", 1, 2)
    refused(refusal, index_again, shared_bench, session, "all-MiniLM-L6-v2")
    refused(refusal, compare_file, shared_bench, session, read_lines("a\nb", shared_bench.settings.limits))


def test_another_corpus_drops_and_closes_the_collection(shared_bench, session, opened):
    closed = []
    opened.collection.close = lambda: closed.append(True)
    open_example(shared_bench, session, "support_tickets.csv")
    assert closed == [True] and session.get(OpenCollection) is None
    assert search(shared_bench, session, "invoice").store is None


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (" ", "The address is blank."), ("/nowhere/at/all", "There is no collection in '/nowhere/at/all'"),
        ("a\nb", "must be on one line"), (7, "The address must be text."),
    ],
)  # fmt: skip
def test_a_bad_address_gets_a_sentence_and_the_corpus_stays(shared_bench, session, opened, address, message):
    with pytest.raises(UserError, match=message):
        open_address(shared_bench, session, address)
    assert session.get(OpenCollection) is opened and search(shared_bench, session, "login", 1).hits


def test_another_model_than_the_collections_is_refused(shared_bench, session, tmp_path, app_encoder):
    make(tmp_path / "other", app_encoder, 20, fingerprint="0" * 16)
    with pytest.raises(UserError, match="made with other weights or another precision of 'all-MiniLM-L6-v2'"):
        open_address(shared_bench, session, str(tmp_path / "other"))
    make(tmp_path / "unknown", app_encoder, 20, model="./nowhere")
    with pytest.raises(UserError, match=r"made with './nowhere', which cannot be loaded: There is no model folder"):
        open_address(shared_bench, session, str(tmp_path / "unknown"))


def test_a_collection_that_goes_away_or_grows_while_it_is_open(shared_bench, session, tmp_path, app_encoder):
    make(tmp_path / "live", app_encoder, 50)
    open_address(shared_bench, session, str(tmp_path / "live"))
    assert search(shared_bench, session, "login", 1).searched == 50
    shutil.rmtree(tmp_path / "live")
    refused("There is no collection in", search, shared_bench, session, "login", 1)
    make(tmp_path / "live", app_encoder, 80)
    assert search(shared_bench, session, "login", 1).searched == 80
    shutil.rmtree(tmp_path / "live")
    make(tmp_path / "live", app_encoder, 50, fingerprint="0" * 16)
    refused("has been made anew with another model. Open it again.", search, shared_bench, session, "login", 1)


@pytest.fixture
def hosted(tmp_path, folder):
    listed = (str(folder), str(tmp_path / "gone"))
    return Workbench(Settings(home=tmp_path / "home", device="cpu", hosted=True, collections=listed))


def test_hosted_only_listed_collections_open_and_no_address_is_named(hosted, folder):
    session = hosted.sessions.open()
    assert list(listed(hosted.settings)) == ["tickets", "gone"]
    with pytest.raises(UserError) as refused:
        open_address(hosted, session, str(folder))
    assert str(refused.value) == "There is no collection of this name here. The collections are: tickets, gone."
    with pytest.raises(UserError) as failed:
        open_address(hosted, session, "gone")
    assert "/" not in str(failed.value) and "'gone' cannot be read now" in str(failed.value)
    opened = open_address(hosted, session, "tickets")
    assert opened.key == "tickets" and opened.sample.corpus.store == "tickets"


def test_hosted_a_milvus_lite_file_is_refused_at_the_start(hosted):
    settings = replace(hosted.settings, collections=("/data/rows.db/tickets",))
    refused("lists 'tickets' in a Milvus Lite file, which a hosted app cannot offer", build_app, Workbench(settings))


def test_a_pages_address_opens_only_what_the_app_offers(shared_bench, hosted, folder):
    session = hosted.sessions.open()
    assert open_key(hosted, session, "collection:tickets")
    assert not open_key(hosted, session, "collection:gone")
    other = shared_bench.sessions.open()
    assert not open_key(shared_bench, other, f"collection:{folder}")
    assert not open_key(shared_bench, other, "support_tickets.csv")


def test_files_of_the_same_name_are_told_apart_by_their_folders():
    files = ("/data/2025/a.csv", "/data/2026/a.csv", "/data/2026/b.csv")
    facts = Facts("m", "f", 4, "text", (), {}, files)
    assert facts.file_names == ["2025/a.csv", "2026/a.csv", "b.csv"]
    assert row_names([(1 << 32) + 1234], facts) == {(1 << 32) + 1234: "1,234 of 2026/a.csv"}
    many = replace(facts, files=tuple(f"/data/{i % 12}/{i}.csv" for i in range(50_000)))  # pair by pair this would take minutes
    assert many.file_names[-1] == "49999.csv"


def test_the_id_is_one_that_other_jobs_take(send, folder):
    opened = send("open_collection", address=str(folder))
    assert (opened["name"], opened["rows"], opened["sampled"], opened["index"]) == ("tickets", 200, 200, "exact")
    assert opened["columns"] == [column for column in tickets(1)[0] if column != "text"] and opened["recall_queries"] == 0
    request = {"query": tickets(8)[7]["text"], "filters": {"team": "Billing"}, "ranking": "dense"}
    answer = send("search", corpus=opened["corpus"], **request)
    assert {hit["metadata"]["team"] for hit in answer["hits"]} == {"Billing"} and "store" in answer["milliseconds"]
    assert answer["collection"] == {"name": "tickets", "kind": "exact", "recall": 1.0, "queries": 0, "filtered": True}
    assert send("duplicates", corpus=opened["corpus"])["collection"]["compared"] == 200


def test_the_shell_searches_a_file_or_a_collection_but_not_both(shell, folder):
    text = tickets(120)[100]["text"]
    out, err = shell("search", "--store", folder, "--query", text, "--json")
    hit = json.loads(out)["hits"][0]
    assert (hit["row"], hit["sentence"]) == (101, text) and "Collection 'tickets': 200 rows, exact index" in err
    for subject in ([], [folder / "collection.json", "--store", folder]):
        _, error = shell("search", *subject, "--query", "x", status=2)
        assert error.splitlines()[-1] == "Error: Name a file or, with --store, a collection: one of the two."
