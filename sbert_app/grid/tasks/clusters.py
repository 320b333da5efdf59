"""Sentences with a class each, asked as clusters: k-means on a system's embeddings should put those of one class together."""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.estimate import resampled
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.grid.systems import System
from sbert_app.grid.tasks.classes import Classes
from sbert_app.grid.tasks.task import CLUSTERS, Outcome, embedder
from sbert_app.vectors import Vectors, unit_rows

SEED = 42  # mteb's
STARTS, BATCH = 10, 512  # of k-means: the best of ten; mteb's batch


class Clusters(Classes):
    """The tested sentences, to be clustered into as many clusters as there are classes."""

    @property
    def name(self) -> str:
        return CLUSTERS

    @property
    def measure(self) -> str:
        return next(iter(METRICS[CLUSTERS]))

    def run(self, system: System, tick: Callable[[], None]) -> Outcome:
        start, tested = time.perf_counter(), self.data.tested
        vectors = embedder(system)([self.data.sentences[row] for row in tested])
        seconds = time.perf_counter() - start
        tick()
        classes = self.data.targets[tested]
        gold, predicted = classes.astype(np.float64), clustered(vectors, classes).astype(np.float64)
        measures = measure(CLUSTERS, predicted, gold)
        samples = resampled(METRICS[CLUSTERS][self.measure], predicted, gold, self.groups)
        samples += measures[self.measure] - samples.mean()  # rows that a resample repeats make clusters look purer
        return Outcome(predicted, measures, samples, len(vectors), seconds)


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
