"""Duplicates of a whole collection are those of the same rows in memory; of a large one a sample is compared with all."""

import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.findings import Mined
from sbert_app.jobs.duplicates import joining
from sbert_app.jobs.duplicates.job import findings_of, mine
from sbert_app.jobs.open_collection import open_address
from tests.jobs.collection.made import make, tickets
from tests.searching import of_example


@pytest.fixture(scope="module")
def folder(tmp_path_factory, app_encoder):
    make(folder := tmp_path_factory.mktemp("stores") / "tickets", app_encoder, 926, ("a.csv", "b.csv"))
    return folder


@pytest.fixture
def session(shared_bench, folder, monkeypatch):
    """A collection of which 50 rows are in memory."""
    monkeypatch.setattr("sbert_app.collections.opened.MOST_SAMPLED", 50)
    session = shared_bench.sessions.open()
    open_address(shared_bench, session, str(folder))
    return session


def test_the_whole_collection_has_the_pairs_of_its_rows_in_memory(shared_bench, session):
    other = of_example(shared_bench, "support_tickets.csv")
    list(mine(shared_bench, other))
    events = list(mine(shared_bench, session))
    assert all(event.result is None for event in events[:-1]) and events[-2].done == events[-2].total == 926
    assert isinstance(events[-1].result, Mined) and (shares := [event.done / event.total for event in events]) == sorted(shares)
    joined, exact = (findings_of(each, 0.8) for each in (session, other))
    assert joined.copies == exact.copies and len(joined.corpus) == 926
    texts = [{frozenset((pair.sentence1, pair.sentence2)) for pair in one.pairs()} for one in (joined, exact)]
    assert texts[0] == texts[1] and len(texts[0]) > 20
    assert joined.mined.joined.compared == joined.mined.joined.total == 926 and not joined.mined.duplicates.pairs.exact
    assert joined.pairs(1)[0].row1.endswith(" of a.csv") or joined.pairs(1)[0].row1.endswith(" of b.csv")
    assert joined.summary(1)["collection"]["neighbours"] == 10


def test_of_a_large_collection_random_rows_are_compared_with_all(shared_bench, session, monkeypatch):
    monkeypatch.setattr(joining, "MOST_WHOLE", 500)
    monkeypatch.setattr(joining, "SAMPLED", 100)
    list(mine(shared_bench, session))
    findings = findings_of(session, 0.8)
    joined = findings.mined.joined
    assert (joined.compared, joined.total, joined.is_sampled) == (100, 926, True)
    whole = {row["text"] for row in tickets(926)}
    assert 100 <= len(findings.corpus) < 926 and set(findings.corpus.sentences) <= whole
    assert findings.corpus.rows.tolist() == sorted(findings.corpus.rows.tolist())


def test_no_more_pairs_are_kept_than_allowed_and_the_floor_says_so(shared_bench, session, monkeypatch):
    monkeypatch.setattr(joining, "MOST_PAIRS", 40)
    list(mine(shared_bench, session))
    pairs = findings_of(session, 0.5).mined.duplicates.pairs
    assert len(pairs.scores) <= 40 and pairs.raised and pairs.scores.min() >= pairs.floor > 0.5


def test_a_short_request_does_not_wait_for_a_store_that_answers_slowly(shared_bench, session, monkeypatch):
    asked, answer = threading.Event(), threading.Event()
    store = session.get(OpenCollection).collection
    search = store.search

    def slow(*values):
        asked.set()
        assert answer.wait(60)
        return search(*values)

    monkeypatch.setattr(store, "search", slow)
    with ThreadPoolExecutor(2) as threads:
        mining = threads.submit(lambda: list(mine(shared_bench, session)))
        assert asked.wait(60)
        short = threads.submit(shared_bench.device.encode, shared_bench.registry.encoder(), ["a query"])
        served = bool(wait([short], timeout=10).done)
        answer.set()
        assert served and mining.result()[-1].result is not None
