"""Renaming clusters and selecting rows of a session's map."""

import threading

import pytest

from sbert_app.corpus_map import selection
from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN
from sbert_app.corpus_map.result import NAME_LENGTH
from sbert_app.errors import UserError
from sbert_app.jobs.map.job import ClusterOptions, regroup, rename
from sbert_app.jobs.map.kept import current_map, current_selection
from sbert_app.mapping.clusters import DENSITY
from tests.corpus_map.maps import small_map


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
def test_what_no_name_can_be_is_refused_and_changes_nothing(shared_bench, session, cluster, name, message):
    before = current_map(session)
    with pytest.raises(UserError, match=message):
        rename(shared_bench, session, cluster, name)
    assert current_map(session) is before


def test_names_outlive_another_share_of_outliers_and_end_with_their_clusters(shared_bench, session):
    rename(shared_bench, session, 0, "Bills")
    fewer = regroup(shared_bench, session, ClusterOptions.read(DENSITY, "auto", 0))
    assert fewer.name_of(fewer.clustering.labels[0]) == "Bills"
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
    assert selection.matching(corpus_map, {"team": ["Shipping"]}).rows.tolist() == [4, 6]
    assert len(selection.of_group(corpus_map, f"{COLUMN}team", 0).rows) == 6
    regroup(shared_bench, session, ClusterOptions.read("k-means", 2))
    assert current_selection(session) is None
