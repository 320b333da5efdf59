"""What is selected on a map, with the title of its list; and a visitor's names of clusters: never twice, and taken back."""

from dataclasses import replace

import numpy as np
import pytest

from sbert_app.corpus_map import selection
from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN, colouring
from sbert_app.corpus_map.query import QueryOnMap
from sbert_app.errors import UserError
from tests.corpus_map.maps import small_map


@pytest.mark.parametrize(
    ("filters", "rows", "title"),
    [
        ({"team": ["Billing"]}, [0, 1, 2, 3, 7], "5 sentences with team: Billing"),
        ({"team": ["Billing", ""], "amount": {"from": "5"}}, [5, 7], "2 sentences with team: Billing or (blank), amount from 5"),
        ({"amount": {"from": "3", "to": "3"}}, [3], "1 sentence with amount from 3 to 3"),
        ({"text": {"contains": "PARCEL"}, "team": "Shipping"}, [4, 6], "2 sentences with “PARCEL” in text, team: Shipping"),
        ({"team": ["Nobody"]}, [], "No sentences with team: Nobody"),
    ],
)
def test_filters_select_rows_and_are_named_in_the_title(filters, rows, title):
    corpus_map = small_map()
    selected = selection.matching(corpus_map, filters)
    assert selected.rows.tolist() == rows and selected.title(corpus_map) == title


def test_values_lassos_and_neighbours_are_selections_too():
    corpus_map = small_map()
    value = selection.of_group(corpus_map, f"{COLUMN}team", 1)
    assert value.rows.tolist() == [0, 1, 2, 3, 7] and value.title(corpus_map) == "5 sentences with team “Billing”"
    assert selection.of_group(corpus_map, CLUSTERS, -1).title(corpus_map) == "2 sentences in “outlier”"
    assert selection.inside_lasso(corpus_map, np.array([2])).title(corpus_map) == "1 sentence inside the lasso"
    filtered = value.among(corpus_map, {"amount": {"from": "3"}})
    assert set(filtered.rows.tolist()) < set(value.rows.tolist()) and value.among(corpus_map, {}) is value
    assert filtered.title(corpus_map) == f"{len(filtered.rows)} sentences with team “Billing”, with amount from 3"
    near = selection.near_row(corpus_map, 3)
    assert near.rows[0] == 3 and near.scores[0] == 1.0 and near.title(corpus_map).startswith("Row 4 and its nearest rows")
    assert set(near.rows[1:4].tolist()) == {0, 1, 2}
    assert len(set(near.rows.tolist())) == 11 and (np.diff(near.scores) <= 1e-6).all()


def test_what_is_near_a_query_is_named_without_its_time_and_tells_of_long_texts():
    query, drawn = QueryOnMap("bills", np.zeros(2, np.float32), np.arange(14, dtype=np.float32), 12.0), small_map()
    near = selection.near_query(replace(drawn, query=query))
    assert (near.title(drawn), near.aside) == ("The 10 nearest to “bills”", " (12 ms; the star marks its position)")
    assert near.notes == ()
    projection = replace(drawn.projection, indexed=replace(drawn.projection.indexed, truncated=3))
    (note,) = selection.near_query(replace(drawn, query=query, projection=projection)).notes
    assert note.startswith("3 texts are longer than a-model reads: of such a text only the beginning is compared here.")


def test_what_the_page_sends_is_checked():
    corpus_map = small_map()
    assert selection.known_rows(corpus_map, [3, -1, 14, "4", 5, 5, True, None]).tolist() == [3, 5]
    with pytest.raises(UserError, match="list of rows"):
        selection.known_rows(corpus_map, {"rows": 1})
    with pytest.raises(UserError, match="There is no cluster"):
        selection.of_group(corpus_map, CLUSTERS, "0; drop")
    with pytest.raises(UserError, match="no query on the map"):
        selection.near_query(corpus_map)


def test_a_given_name_replaces_the_made_one_an_empty_one_brings_it_back_and_no_two_groups_have_one():
    made = small_map()
    renamed = made.renamed(1, "Refunds")
    assert renamed.names == [made.names[0], "Refunds", made.names[2]] and renamed.made_names == made.names
    assert renamed.name_of(1) == "Refunds" and renamed.summary()["clusters"][1]["name"] == "Refunds"
    assert {record["cluster"] for record in renamed.records(np.arange(4, 8))} == {"Refunds"}
    assert colouring(renamed).names == renamed.names
    assert renamed.renamed(1, "Paid").names[1] == "Paid"
    assert renamed.renamed(1, "").names == made.names and renamed.renamed(1, made.names[1]).given_names == {}
    assert made.names[1] != "Refunds"  # the map before stays as it was
    for taken in ("refunds", made.names[1], made.names[2], "outlier", "Outliers"):
        with pytest.raises(UserError, match="belongs to another group"):
            renamed.renamed(0, taken)
    assert renamed.renamed(1, "REFUNDS").names[1] == "REFUNDS"


def test_names_follow_their_clusters_when_outliers_join_them():
    before = small_map().renamed(0, "Bills").renamed(2, "Log in")
    after = before.with_outliers(0.0)
    assert after.clustering.outliers == 0 and after.clustering.labels.tolist() != before.clustering.labels.tolist()
    for row, name in ((0, "Bills"), (9, "Log in")):
        assert after.name_of(after.clustering.labels[row]) == name
    assert after.clustering.labels[9] != before.clustering.labels[9]  # the outliers made another cluster the largest
    assert after.with_outliers(1.0).names == before.names
