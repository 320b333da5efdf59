"""Renaming clusters and selecting rows of a session's map."""

import threading

import pytest

from sbert_app.corpus_map import selection
from sbert_app.corpus_map.colouring import CLUSTERS
from sbert_app.corpus_map.result import NAME_LENGTH
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.opening import open_example
from sbert_app.jobs.map.job import ClusterOptions, regroup, rename
from sbert_app.jobs.map.kept import current_map, current_selection, search_inside
from sbert_app.jobs.search.job import SearchOptions, more_like, search
from sbert_app.jobs.search.open_corpus import Within
from sbert_app.mapping.clusters import DENSITY
from tests.corpus_map.maps import map_in_thirds, small_map
from tests.jobs.refusals import refused


@pytest.fixture
def session(shared_bench):
    """A session with a small map."""
    session = shared_bench.sessions.open()
    session.put(small_map())
    return session


def test_a_name_is_trimmed_and_kept_with_the_map(shared_bench, session):
    made = current_map(session).names
    assert rename(shared_bench, session, 1, "  Broken \u00a0 parcels ").names == [made[0], "Broken parcels", made[2]]
    assert current_map(session).names[1] == "Broken parcels"
    assert rename(shared_bench, session, 0, "<b>Bills</b>").names[0] == "<b>Bills</b>"
    assert rename(shared_bench, session, 0, "x" * NAME_LENGTH).names[0] == "x" * NAME_LENGTH
    for blank in ("", "   ", "\u200b\u200e"):  # nothing of it can be seen
        rename(shared_bench, session, 1, "Broken")
        assert rename(shared_bench, session, 1, blank).names[1] == made[1]


@pytest.mark.parametrize(
    ("cluster", "name", "message"),
    [
        (0, "x" * (NAME_LENGTH + 1), "has 61 characters, more than 60"), (0, "two\nlines", "on one line"),
        (0, None, "name must be text"), (0, ["Refunds"], "name must be text"), (3, "Refunds", "There is no cluster 3"),
        (-1, "Refunds", "There is no cluster -1"), (True, "Refunds", "There is no cluster True"),
        ("0", "Refunds", "There is no cluster '0'"),
    ],
)  # fmt: skip
def test_what_no_name_can_be_is_refused_and_changes_nothing(shared_bench, session, cluster, name, message):
    before = current_map(session)
    with pytest.raises(UserError, match=message):
        rename(shared_bench, session, cluster, name)
    assert current_map(session) is before


def test_names_end_with_their_clusters(shared_bench, session):
    rename(shared_bench, session, 0, "Bills")
    assert regroup(shared_bench, session, ClusterOptions.read(DENSITY, "auto", 0)).given_names
    assert regroup(shared_bench, session, ClusterOptions.read("k-means", 2)).given_names == {}


def test_a_name_given_while_another_request_changes_the_map_is_not_lost(shared_bench, session, monkeypatch):
    swap, raced = type(session).swap, threading.Event()

    def late(own, before, after):
        if not raced.is_set():
            raced.set()
            rename(shared_bench, session, 1, "Broken")
        return swap(own, before, after)

    monkeypatch.setattr(type(session), "swap", late)
    assert rename(shared_bench, session, 0, "Bills").names[:2] == ["Bills", "Broken"]


def test_the_selection_is_kept_until_another_and_not_beyond_its_clusters(shared_bench, session):
    corpus_map = current_map(session)
    assert current_selection(session) is None
    selected = selection.of_group(corpus_map, CLUSTERS, 1)
    session.put(selected)
    assert current_selection(session) is selected and selected.rows.tolist() == [4, 5, 6, 7]
    assert selected.title(rename(shared_bench, session, 1, "Broken")) == "4 sentences in “Broken”"
    assert current_selection(session) is selected  # a name changes no cluster
    regroup(shared_bench, session, ClusterOptions.read("k-means", 2))
    assert current_selection(session) is None


def test_a_search_inside_a_selection_finds_nothing_else(shared_bench):
    session = shared_bench.sessions.open()
    indexed = open_example(shared_bench, session, "support_tickets.csv")
    session.put(drawn := map_in_thirds(indexed))
    refused("Nothing of the open corpus is selected", search_inside, session)
    session.put(selection.of_group(drawn, CLUSTERS, 1))
    search_inside(session)
    asked = SearchOptions("charged twice", top=50, filters={"team": ["Billing"]})
    for found in (search(shared_bench, session, asked), more_like(shared_bench, session, 2, asked)):
        assert len(found.hits) > 10 and {(hit.row - 1) % 3 for hit in found.hits} == {1}
        assert {hit.metadata["team"] for hit in found.hits} == {"Billing"}
    assert search(shared_bench, session, SearchOptions("charged twice")).fitting == drawn.clustering.sizes[1]
    open_example(shared_bench, session, "support_tickets.csv")
    assert session.get(Within) is None


def test_what_the_search_tab_does_not_search_is_not_searched_inside(session):
    session.put(selection.of_group(current_map(session), CLUSTERS, 0))  # of a map whose corpus is not open
    refused("Nothing of the open corpus is selected", search_inside, session)
