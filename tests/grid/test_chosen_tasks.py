"""Labelled sentences asked as clusters and as triplets."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import v_measure_score

from sbert_app.grid.cell import measure_cell, mistakes
from sbert_app.grid.classes import Classes, clustered
from sbert_app.grid.data_set import CLASSES, CLUSTERS
from sbert_app.grid.loading import load_system
from sbert_app.grid.reading import MOST_TRIPLETS, as_triplets, by_tasks
from sbert_app.grid.systems import WORD_VECTORS, Choice
from sbert_app.labelled.labelled_sentences import LabelledSentences
from tests.evaluating import own

GENERATOR = np.random.default_rng(0)


@pytest.fixture(scope="module")
def notes():
    return own("Notes by topic")


def made(targets, test=None) -> Classes:
    sentences = [f"sentence number {row}" for row in range(len(targets))]
    return Classes("made", LabelledSentences(sentences, np.asarray(targets), ["a", "b", "c"], test, None))


def test_unasked_sentences_are_classes_only(notes):
    assert [data.task for data in by_tasks(notes, [])] == [CLASSES]
    assert [data.task for data in by_tasks(notes, ["triplets", CLUSTERS])] == [CLUSTERS, "triplets"]
    assert [data.name for data in by_tasks(notes, [CLUSTERS])] == ["Notes by topic as clusters"]
    assert by_tasks(notes, ["scored"]) == []
    assert len({data.digest for data in by_tasks(notes, [CLASSES, CLUSTERS, "triplets"])}) == 3


def test_a_triplet_is_two_of_one_class_and_one_of_another():
    data = made(np.repeat([0, 1, 1, 2], 900))
    columns = as_triplets(data).columns
    rows = np.array([[int(sentence.split()[-1]) for sentence in column] for column in columns])
    anchors, positives, negatives = data.data.targets[rows]
    assert rows.shape == (3, MOST_TRIPLETS) and len(set(rows[0].tolist())) == MOST_TRIPLETS
    assert (anchors == positives).all() and (anchors != negatives).all() and (rows[0] != rows[1]).all()
    assert columns == as_triplets(data).columns


def test_only_tested_sentences_are_asked_for():
    test = np.zeros(40, bool)
    test[20:] = True
    data = made(np.tile([0, 1], 20), test)
    clusters, triplets = by_tasks(data, ["triplets", CLUSTERS])
    assert {int(sentence.split()[-1]) for column in triplets.columns for sentence in column} <= set(range(20, 40))
    assert clusters.size == 20
    alone = made(np.repeat([0, 1], 20), test)  # the test part holds one class
    assert by_tasks(alone, ["triplets", CLUSTERS]) == [] and len(by_tasks(alone, [CLASSES])) == 1


def test_a_cluster_has_the_name_of_the_class_that_fits_best():
    classes = GENERATOR.integers(0, 3, size=300) + 4  # of seven classes three are there
    vectors = np.eye(3, dtype=np.float32)[classes - 4] + GENERATOR.normal(0, 0.05, size=(300, 3)).astype(np.float32)
    assert (clustered(vectors, classes) == classes).all()
    assert (clustered(vectors, classes) == clustered(vectors, classes)).all()


def test_the_figure_of_clusters_is_scikit_learns(shared_bench, notes):
    system, (data,) = load_system(shared_bench, WORD_VECTORS, Choice()), by_tasks(notes, [CLUSTERS])
    cell = measure_cell(system, data)
    assert data.measure == cell.measure == "v_measure" and cell.sentences == data.size
    assert cell.value == pytest.approx(v_measure_score(notes.data.targets, cell.predicted), abs=1e-6)
    assert 0.2 < cell.low < cell.value < cell.high < 0.9 and cell.samples.mean() == pytest.approx(cell.value, abs=1e-4)
    assert cell.measures["accuracy"] == pytest.approx((cell.predicted == notes.data.targets).mean())
    assert all(mistake.expected != mistake.given for mistake in mistakes(data, cell, 5))
    guess = replace(system, embed=lambda sentences: GENERATOR.normal(size=(len(sentences), 8)).astype(np.float32))
    assert measure_cell(guess, data).value < cell.low / 2
