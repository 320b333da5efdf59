"""A visitor's names of clusters: shown everywhere, never twice, and taken back."""

import numpy as np
import pytest

from sbert_app.corpus_map.colouring import colouring
from sbert_app.errors import UserError
from tests.corpus_map.maps import small_map


def test_a_given_name_replaces_the_made_one_and_an_empty_one_brings_it_back():
    made = small_map()
    renamed = made.renamed(1, "Refunds")
    assert renamed.names == [made.names[0], "Refunds", made.names[2]] and renamed.made_names == made.names
    assert renamed.name_of(1) == "Refunds" and renamed.summary()["clusters"][1]["name"] == "Refunds"
    assert {record["cluster"] for record in renamed.records(np.arange(4, 8))} == {"Refunds"}
    assert colouring(renamed).names == renamed.names
    assert renamed.renamed(1, "Paid").names[1] == "Paid"
    assert renamed.renamed(1, "").names == made.names and renamed.renamed(1, made.names[1]).given_names == {}
    assert made.names[1] != "Refunds"  # the map before stays as it was


def test_two_groups_never_have_one_name():
    corpus_map = small_map().renamed(0, "Refunds")
    for taken in ("refunds", corpus_map.made_names[0], corpus_map.names[2], "outlier", "Outliers"):
        with pytest.raises(UserError, match="belongs to another group"):
            corpus_map.renamed(1, taken)
    assert corpus_map.renamed(0, "REFUNDS").names[0] == "REFUNDS"


def test_names_follow_their_clusters_when_outliers_join_them():
    before = small_map().renamed(0, "Bills").renamed(2, "Log in")
    after = before.with_outliers(0.0)
    assert after.clustering.outliers == 0 and after.clustering.labels.tolist() != before.clustering.labels.tolist()
    for row, name in ((0, "Bills"), (9, "Log in")):
        assert after.name_of(after.clustering.labels[row]) == name
    assert after.clustering.labels[9] != before.clustering.labels[9]  # the outliers made another cluster the largest
    assert after.with_outliers(1.0).names == before.names
