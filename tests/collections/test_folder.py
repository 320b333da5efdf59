"""A collection in a folder: what was written is found, exactly or nearly, by any process, and nothing half-written is."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sbert_app.collections.collection import FILE_BITS, CollectionError, embeddings_of, exact_search
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, recall
from sbert_app.corpus.filters import matching_rows
from sbert_app.errors import UserError
from tests.collections.made import FACTS, clustered, collection_in, rows

QUERIES = clustered(100, seed=99)


@pytest.fixture
def collection(tmp_path):
    yield (made := collection_in(tmp_path / "made", 2000, 1000))
    made.close()


def every_row(collection):
    return pa.concat_tables(collection.scan(700))


@pytest.mark.parametrize(("kind", "least"), [(EXACT, 1), (IVF, 0.98), (HNSW, 0.98), (SCANN, 0.98)])
def test_an_index_finds_all_or_almost_all_and_gives_exact_cosines_best_first(collection, kind, least):
    collection.finish(replace(FACTS, index=kind))
    scores, ids = collection.search(QUERIES, 10)
    exact, exact_ids = exact_search(collection.scan(), QUERIES, 10)
    assert recall(exact, exact_ids, scores, ids, np.full(len(QUERIES), -1)) >= least
    own = embeddings_of(collection.fetch(ids[0].tolist())) @ QUERIES[0]
    assert np.abs(own - scores[0]).max() < 1e-6
    assert (np.diff(scores, axis=1) <= 0).all() and (ids >> FILE_BITS).max() == 1
    mask = matching_rows(FACTS.cells(every_row(collection), ["team"]), {"team": "Zürich"}).mask
    allowed = set(every_row(collection).column("row").to_numpy()[mask].tolist())
    assert set(collection.search(QUERIES, 10, {"team": "Zürich"})[1].ravel().tolist()) <= allowed


FILTERS = [
    {"team": "Billing"}, {"team": ['the "A" team', "O'Brien & co"]}, {"team": ""}, {"team": {"contains": "ZÜR"}},
    {"team": {"contains": "%_"}}, {"team": {"contains": "\\"}}, {"text": {"contains": "“FILE” 1"}}, {"row": ["7", "8"]},
    {"amount": {"from": "3", "to": 5}}, {"amount": {"from": 100}, "team": "日本"}, {"day": {"from": "2026-03", "to": "2026-03"}},
    {"day": {"to": "2026-01-05"}, "text": {"contains": "file"}}, {"team": "nobody"},
]  # fmt: skip


@pytest.mark.parametrize("narrow", [0, 10**6])
def test_filters_leave_the_closest_of_the_rows_that_fit(collection, monkeypatch, narrow):
    monkeypatch.setattr("sbert_app.collections.folder.NARROW", narrow)  # by the index, and one by one
    table = every_row(collection)
    for filters in FILTERS:
        fitting = table.filter(pa.array(matching_rows(FACTS.cells(table, FACTS.filterable), filters).mask))
        scores, ids = collection.search(QUERIES[:5], 10, filters)
        exact, exact_ids = exact_search([fitting], QUERIES[:5], 10) if len(fitting) else (scores, np.full_like(ids, -1))
        assert ((ids >= 0) == (exact_ids >= 0)).all(), filters
        assert np.abs(scores - exact)[ids >= 0].max(initial=0) < 1e-5, filters


def test_a_filter_that_does_not_fit_gets_a_sentence(collection):
    mistakes = [({"colour": "red"}, "no column 'colour'"), ({"team": {"from": 1}}, "neither numbers nor dates")]
    mistakes += [({"amount": {"from": "\ud800"}}, "half of a character"), ({"team": ["\ud800"]}, "half of a character")]
    for filters, words in mistakes:
        with pytest.raises(UserError, match=words):
            collection.search(QUERIES[:1], 10, filters)


def test_rows_come_back_in_the_order_they_are_asked_for_and_unknown_ones_are_left_out(collection):
    wanted = [(1 << FILE_BITS) + 5, 1999, 3, 5000, 1]
    table = collection.fetch(wanted)
    assert table.column("row").to_pylist() == [(1 << FILE_BITS) + 5, 1999, 3, 1] and table.schema == FACTS.schema
    assert table.column("sentence")[0].as_py() == "Sentence 5 of “file” 1"
    assert np.abs(embeddings_of(collection.fetch([3])) - clustered(2000)[2]).max() < 1e-3
    assert len(collection.fetch([])) == 0


def test_a_row_that_is_written_again_replaces_the_earlier_one(collection):
    changed = rows(range(10, 20), seed=5, note="New: ")
    collection.upsert(changed)
    assert collection.count() == 3000 and not collection.fetch([12]).column("sentence")[0].as_py().startswith("New")
    collection.finish(FACTS)
    assert collection.count() == 3000 and collection.fetch([12]).column("sentence")[0].as_py() == "New: Sentence 12 of “file” 0"
    assert collection.search(embeddings_of(changed)[:1], 1)[1][0, 0] == 10
    collection.upsert(rows(range(10, 20)))  # as at the beginning, by a part of its own
    collection.finish(FACTS)
    assert not collection.fetch([12]).column("sentence")[0].as_py().startswith("New")


def test_others_read_while_one_writes_and_see_the_rows_when_they_are_finished(collection, tmp_path):
    reader = FolderCollection.open(tmp_path / "made")
    collection.upsert(rows(range(2001, 3001)))
    assert reader.count() == 3000
    collection.finish(replace(FACTS, index=IVF, recall=0.99, recall_queries=200))
    assert reader.count() == 4000 and reader.facts.recall == 0.99 and (reader.search(QUERIES, 5)[1] >= 0).all()
    with pytest.raises(CollectionError, match="Another process"):
        reader.upsert(rows([1]))


def test_a_writer_that_was_killed_leaves_what_was_there_and_what_it_wrote_counts_later(collection, tmp_path):
    collection.upsert(rows(range(2001, 2501)))
    with (tmp_path / "made" / "log.jsonl").open("a") as log:
        log.write('{"part": "half of a li')
    collection.close()
    again = FolderCollection.open(tmp_path / "made")
    assert again.count() == 3000
    again.upsert(rows(range(2501, 2601)))
    again.finish(FACTS)
    assert again.count() == 3600
    again.close()


def test_what_is_no_collection_gets_a_sentence(tmp_path):
    with pytest.raises(CollectionError, match="no collection in"):
        FolderCollection.open(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("private")
    with pytest.raises(CollectionError, match="holds something already"):
        FolderCollection.create(tmp_path / "full", FACTS)
    empty = FolderCollection.create(tmp_path / "empty", FACTS)
    assert empty.count() == 0 and empty.search(QUERIES, 3)[1].shape == (100, 0)
    with pytest.raises(CollectionError, match="no rows"):
        empty.finish(FACTS)
    empty.close()


def test_a_sample_is_of_different_rows_in_order_and_the_same_each_time(collection):
    sample = collection.sample(500)
    assert len(np.unique(sample)) == 500 and (np.diff(sample) > 0).all() and (collection.sample(500) == sample).all()
    assert len(collection.sample(10_000)) == 3000
