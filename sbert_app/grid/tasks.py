"""What is asked of a data set. Labelled sentences can be asked in three ways: as classes, as clusters and as triplets."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.grid.data_sets import CLASSES, CLUSTERS, PAIR_CLASSES, TASKS, DataSet
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.vectors import Vectors, unit_rows

TRIPLETS = "triplets"
MOST_TRIPLETS = 2_000
SEED = 42  # mteb's
STARTS, BATCH = 10, 512  # of k-means: the best of ten; mteb's batch


def check_tasks(tasks: Sequence[str]) -> None:
    """Raise UserError for an unknown task."""
    if unknown := [task for task in tasks if task not in TASKS]:
        raise UserError(f"Unknown task {unknown[0]!r}. Must be one of {', '.join(TASKS)}.")


def asked(data: DataSet, tasks: Sequence[str], quick: bool = False) -> list[DataSet]:
    """The data set if its task is among these, or if there are none; labelled sentences also as clusters and triplets if asked.

    quick: classes are learnt by the quick form of transfer.
    """
    data = replace(data, quick=quick and data.task in (CLASSES, PAIR_CLASSES))
    sets = [data] if not tasks or data.task in tasks else []
    if isinstance(data.content, LabelledSentences) and data.task == CLASSES:
        counts = np.bincount(data.content.targets[data.tested])
        several = (counts > 0).sum() > 1 and counts.max() > 1
        sets += [as_clusters(data)] if CLUSTERS in tasks and several else []
        sets += [as_triplets(data, data.content)] if TRIPLETS in tasks and several else []
    return sets


def as_clusters(data: DataSet) -> DataSet:
    """The tested sentences, to be clustered into as many clusters as there are classes."""
    return replace(data, name=f"{data.name} as clusters", clustered=True)


def as_triplets(data: DataSet, content: LabelledSentences) -> DataSet:
    """Triplets from the tested sentences: two of one class, drawn at random, and one of another. The same for equal data."""
    generator, rows = np.random.default_rng(SEED), data.tested
    classes = content.targets[rows]
    paired = np.flatnonzero(np.bincount(classes)[classes] > 1)
    anchors = generator.permutation(paired)[:MOST_TRIPLETS]
    positives = [generator.choice(np.setdiff1d(np.flatnonzero(classes == classes[anchor]), anchor)) for anchor in anchors]
    negatives = [generator.choice(np.flatnonzero(classes != classes[anchor])) for anchor in anchors]
    columns = tuple([content.sentences[rows[row]] for row in column] for column in (anchors, positives, negatives))
    examples = Examples("triplets", columns, np.zeros(len(anchors)), rows[anchors] + 1)
    return DataSet(f"{data.name} as triplets", examples, data.notes)


def clustered(vectors: Vectors, classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cluster the vectors, (n, dim), by k-means and name each cluster by a class, one to one, so that most rows match. -> (n,)."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import MiniBatchKMeans

    known, numbers = np.unique(classes, return_inverse=True)
    clusters = MiniBatchKMeans(len(known), batch_size=BATCH, n_init=STARTS, random_state=SEED).fit_predict(unit_rows(vectors))
    table = np.zeros((len(known), len(known)), np.int64)
    np.add.at(table, (clusters, numbers), 1)
    names: NDArray[np.int64] = known[linear_sum_assignment(table, maximize=True)[1]][clusters]
    return names
