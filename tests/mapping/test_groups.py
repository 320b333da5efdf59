"""Clusters, what they are about, how good they are, and what another model moves. Small hand-made points, real sentences."""

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from sbert_app.corpus_map.result import accord
from sbert_app.mapping import clusters, keywords
from sbert_app.mapping.clusters import OUTLIER, Clustering, cluster, merged, silhouettes, with_fewer_outliers
from sbert_app.mapping.projection import NeighbourIndex, Neighbours, aligned, kept, same_label
from sbert_app.vectors import unit_rows

SIZES = (60, 40, 20)


@pytest.fixture(scope="module")
def blobs():
    """Three round groups of 60, 40 and 20 points, and directions in space that agree with them."""
    random = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), SIZES)
    points = (np.array([[0, 0], [8, 0], [0, 8]])[truth] + random.normal(scale=0.5, size=(120, 2))).astype(np.float32)
    vectors = unit_rows((np.eye(3, 12)[truth] + random.normal(scale=0.05, size=(120, 12))).astype(np.float32))
    return points, vectors, truth


@pytest.mark.parametrize("method", clusters.METHODS)
def test_every_method_finds_three_plain_groups_or_as_many_as_are_set_by_hand_and_numbers_them_by_size(blobs, method):
    points, vectors, truth = blobs
    found = cluster(points, vectors, method)
    assert found.count == 3 and found.sizes.tolist() == sorted(found.sizes, reverse=True)
    inside = found.labels >= 0
    assert (found.labels[inside] == truth[inside]).all() and inside.mean() > 0.9
    assert found.how
    if method in clusters.PARTITIONS:
        assert cluster(points, vectors, method, 7).count == 7
        assert cluster(points[:5], vectors[:5], method, 100).count == 5


def test_islands_of_the_neighbour_graph_are_joined_by_the_nearest_points():
    points = np.array([[0, 0], [1, 0], [100, 0], [101, 0], [300, 0], [301, 0]], np.float32)
    linked = clusters._joined(points, kneighbors_graph(points, 1))
    assert linked[1, 2] and not linked[0, 3]
    rows = np.repeat(points, 12, axis=0) + np.arange(72)[:, None] * 1e-3
    found = cluster(rows, np.eye(72, dtype=np.float32), clusters.AGGLOMERATIVE, 2)
    assert found.sizes.tolist() == [48, 24]


def test_two_clusters_are_chosen_where_there_are_two_but_not_where_there_are_none():
    random = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    vague, halves = unit_rows(random), unit_rows(random + 10 * np.repeat(np.eye(2, 64, dtype=np.float32), 100, axis=0))
    assert cluster(vague[:, :2], vague).count >= 4  # the highest silhouette is that of 2
    assert cluster(halves[:, :2], halves).count == 2


def test_no_more_outliers_than_accepted_and_the_nearest_join_first():
    points = np.array([[0, 0], [0.1, 0], [5, 0], [5.1, 0], [0.5, 0], [4, 0], [2.6, 40]], np.float32)
    found = Clustering(np.array([0, 0, 1, 1, OUTLIER, OUTLIER, OUTLIER], np.int32), clusters.DENSITY, "")
    assert with_fewer_outliers(found, points, 0.5) is found
    fewer = with_fewer_outliers(found, points, 2 / 7)
    assert fewer.outliers == 2 and fewer.labels[4] == fewer.labels[0]
    none = with_fewer_outliers(found, points, 0)
    assert none.outliers == 0 and none.labels[5] == none.labels[2]
    assert found.outliers == 3


def test_near_clusters_are_merged_and_outliers_stay():
    places = np.array([[0, 0], [0.9, 0], [10, 0], [11, 0], [40, 0], [41.2, 0], [9, 9]], np.float32)
    labels = np.repeat(np.array([0, 1, 2, 3, 4, 5, OUTLIER], np.int32), [50, 40, 9, 8, 2, 1, 3])
    found, points = Clustering(labels, clusters.K_MEANS, ""), np.repeat(places, [50, 40, 9, 8, 2, 1, 3], axis=0)
    pairs = merged(found, points, 3)
    assert pairs.sizes.tolist() == [90, 17, 3] and pairs.outliers == 3
    assert merged(found, points, 5).sizes.tolist() == [90, 9, 8, 2, 1]  # the two nearest, however large
    assert merged(found, points, 6).labels.tolist() == labels.tolist() and found.count == 6


def test_silhouette_tells_good_groups_from_shuffled_ones(blobs):
    _, vectors, truth = blobs
    labels = truth.astype(np.int32)
    whole, each = silhouettes(vectors, labels)
    assert whole > 0.8 and set(each) == {0, 1, 2}
    assert silhouettes(vectors, np.random.default_rng(0).permutation(labels))[0] < 0.05
    assert silhouettes(vectors, np.zeros(120, np.int32)) == (None, {})


def test_accord_with_labels_is_1_for_the_same_groups_and_0_by_chance():
    labels, topics = np.repeat(np.arange(4, dtype=np.int32), 100), np.array(list("abcd"), dtype=object).repeat(100)
    same = accord("topic", labels, topics)
    assert (same.values, same.purity, same.ari, same.nmi) == (4, 1.0, 1.0, pytest.approx(1.0))
    chance = accord("topic", labels, np.random.default_rng(0).permutation(topics))
    assert abs(chance.ari) < 0.02 and chance.purity < 0.4
    # By hand: the larger part of each cluster. One cluster for two labels is half pure, two for one label are pure.
    assert accord("t", labels * 0, np.where(topics < "c", "a", "b")).purity == 0.5
    assert accord("t", labels, np.full(400, "a")).purity == 1.0


def test_the_central_row_is_the_one_in_the_middle():
    vectors = unit_rows(np.array([[1, 0.4], [1, 0], [1, -0.4], [0, 1]], np.float32))
    assert keywords.central(vectors, np.array([0, 0, 0, 1], np.int32)) == [1, 3]


def test_a_turned_mirrored_larger_map_is_turned_back(blobs):
    points, _, _ = blobs
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])  # a turn and a mirror
    assert np.abs(aligned((points @ turn * 3 + 5).astype(np.float32), points) - points).max() < 1e-3
    assert np.isfinite(aligned(np.ones_like(points), points)).all()


def test_drift_counts_the_neighbours_that_stay_the_row_itself_not_among_them():
    before = Neighbours(np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]]), np.ones((3, 3), np.float32))
    after = Neighbours(np.array([[0, 1, 3], [1, 0, 2], [2, 3, 4]]), np.ones((3, 3), np.float32))
    assert kept(before, after).tolist() == [0.5, 1.0, 0.0]


def test_same_label_counts_neighbours_of_the_own_kind(blobs):
    _, vectors, truth = blobs
    near = NeighbourIndex(vectors).search(vectors, 5)
    assert same_label(near, truth) == 1.0
    assert same_label(near, np.arange(120)) == 0.0
