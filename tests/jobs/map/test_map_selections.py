"""Renaming clusters and selecting rows of a session's map."""

import threading

import pytest

from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN
from sbert_app.corpus_map.result import NAME_LENGTH, CorpusMap
from sbert_app.errors import UserError
from sbert_app.jobs.map.drawing import Grouping, MapService
from sbert_app.mapping.clusters import DENSITY
from tests.corpus_map.maps import small_map


@pytest.fixture
def service(shared_bench):
    return MapService(shared_bench)


@pytest.fixture
def session(shared_bench):
    """A session with a small map."""
    session = shared_bench.sessions.open()
    session.put(small_map())
    return session


def test_a_name_is_trimmed_and_kept_with_the_map(service, session):
    made = service.map(session).names
    assert service.rename(session, 1, "  Broken \u00a0 parcels ").names == [made[0], "Broken parcels", made[2]]
    assert service.map(session).names[1] == "Broken parcels"
    assert service.rename(session, 0, "<b>Bills</b>").names[0] == "<b>Bills</b>"
    assert service.rename(session, 0, "x" * NAME_LENGTH).names[0] == "x" * NAME_LENGTH
    for blank in ("", "   ", "\u200b\u200e"):  # nothing of it can be seen
        service.rename(session, 1, "Broken")
        assert service.rename(session, 1, blank).names[1] == made[1]


@pytest.mark.parametrize(
    ("cluster", "name", "message"),
    [
        (0, "x" * (NAME_LENGTH + 1), "has 61 characters, more than 60"),
        (0, "two\nlines", "on one line"),
        (0, None, "name must be text"),
        (0, ["Refunds"], "name must be text"),
        (0, "outlier", "belongs to another group"),
        (3, "Refunds", "There is no cluster 3"),
        (-1, "Refunds", "There is no cluster -1"),
        (True, "Refunds", "There is no cluster True"),
        ("0", "Refunds", "There is no cluster '0'"),
    ],
)
def test_what_no_name_can_be_is_refused_and_changes_nothing(service, session, cluster, name, message):
    before = service.map(session)
    with pytest.raises(UserError, match=message):
        service.rename(session, cluster, name)
    assert service.map(session) is before


def test_names_outlive_another_share_of_outliers_and_end_with_their_clusters(service, session):
    service.rename(session, 0, "Bills")
    fewer = service.regroup(session, Grouping.read(DENSITY, "auto", 0))
    assert fewer.name_of(fewer.clustering.labels[0]) == "Bills"
    assert service.regroup(session, Grouping.read("k-means", 2)).given_names == {}


def test_a_name_given_while_another_request_changes_the_map_is_not_lost(service, session, monkeypatch):
    swap, raced = type(session).swap, threading.Event()

    def late(own, before, after):
        if not raced.is_set():
            raced.set()
            service.rename(session, 1, "Broken")
        return swap(own, before, after)

    monkeypatch.setattr(type(session), "swap", late)
    assert service.rename(session, 0, "Bills").names[:2] == ["Bills", "Broken"]


def test_the_selection_is_kept_until_another_and_not_beyond_its_clusters(service, session):
    selections = service.selections
    assert selections.current(session) is None
    selected = selections.group(session, CLUSTERS, 1)
    assert selections.current(session) is selected and selected.rows.tolist() == [4, 5, 6, 7]
    assert selected.title(service.rename(session, 1, "Broken")) == "4 sentences in “Broken”"
    assert selections.current(session) is selected  # a name changes no cluster
    filtered = selections.matching(session, {"team": ["Shipping"]})
    assert selections.current(session) is filtered and filtered.rows.tolist() == [4, 6]
    assert len(selections.group(session, f"{COLUMN}team", 0).rows) == 6
    service.regroup(session, Grouping.read("k-means", 2))
    assert selections.current(session) is None
    selections.inside_lasso(session, [3, 2])
    selections.clear(session)
    assert selections.current(session) is None


def test_the_filters_of_a_map_are_its_columns_and_none_where_there_are_only_sentences(service, session):
    values, columns = service.selections.filters(session)
    assert values == [("team", "Technical", 6), ("team", "Billing", 5), ("team", "Shipping", 2), ("team", "", 1)]
    assert columns == ["team", "amount", "text"]
    current = session.get(CorpusMap)
    corpus = current.projection.indexed.corpus
    corpus.metadata.drop(columns=["team", "amount"], inplace=True)
    assert service.selections.filters(session) == ([], [])
