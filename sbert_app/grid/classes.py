"""Sentences, or pairs, with a class each: a linear classifier learns the classes from a system's embeddings, as in SentEval."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.metrics import resampled, share_positive
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.grid.data_set import CLASSES, CLUSTERS, PAIR_CLASSES, SHORT, DataSet, Mistake, TaskResult, embedder
from sbert_app.grid.systems import System
from sbert_app.labelled.example_set import normalise
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.vectors import Array, Integers, Vectors, unit_rows
from sbert_app.wording import short

if TYPE_CHECKING:
    from sbert_app.training.transfer import Transfer

SEED = 42  # mteb's
STARTS, BATCH = 10, 512  # of k-means: the best of ten; mteb's batch


@dataclass(frozen=True)
class Classes(DataSet):
    """quick: learnt by the quick form of transfer, not by SentEval's protocol."""

    data: LabelledSentences
    quick: bool = False

    @property
    def task(self) -> str:
        return PAIR_CLASSES if self.data.partners else CLASSES

    measure = "accuracy"

    @property
    def size(self) -> int:
        return len(self.data.tested)

    @property
    def columns(self) -> Sequence[list[str]]:
        return self.data.columns

    @property
    def groups(self) -> Integers:
        """Pairs with the same first sentence belong together."""
        if not self.data.partners:
            return super().groups
        first = [normalise(self.data.sentences[row]) for row in self.data.tested.tolist()]
        return np.unique(first, return_inverse=True)[1].astype(np.int64)

    def answers(self) -> Iterator[NDArray[Any] | None]:
        yield from (self.data.targets, self.data.test, self.data.dev, np.array([self.quick]))

    def run(self, system: System, tick: Callable[[], None]) -> TaskResult:
        """The seconds are those of the embeddings, or of counting words, alone."""
        start = time.perf_counter()
        features = self.features(system)
        seconds = time.perf_counter() - start
        learnt = self.learnt(system, features, tick)
        right = (learnt.predicted == self.data.targets[self.data.tested]).astype(np.float64)
        samples = resampled(share_positive, right, right, self.groups)
        return TaskResult(
            measures=measures_of(self.data, learnt), samples=samples, predicted=learnt.predicted.astype(np.float64),
            sentences=sum(map(len, self.columns)), seconds=seconds, protocol=learnt.protocol,
        )  # fmt: skip

    def features(self, system: System) -> Any:
        """What a classifier learns from: the system's embeddings (n, dim), of pairs (n, 2 dim), or how often each word occurs."""
        from sbert_app.training.transfer import count_words

        if system.words:
            return count_words(self.data)
        vectors = [embedder(system)(column) for column in self.columns]
        return pair_features(*vectors) if self.data.partners else vectors[0]

    def learnt(self, system: System, features: Any, tick: Callable[[], None]) -> "Transfer":
        """How well a classifier learns from the system's features. tick: called between steps, may raise."""
        from sbert_app.training.transfer import learn, learn_words

        return (learn_words if system.words else learn)(features, self.data, self.quick, tick)

    def distances(self, predicted: Array) -> Array:
        """1 where the class is wrong."""
        return np.where(predicted == self.data.targets[self.data.tested], 0.0, 1.0)

    def example(self, predicted: Array, row: int) -> Mistake:
        position, names = self.data.tested[row], self.data.classes
        sentences = tuple(short(column[position], SHORT) for column in self.columns)
        return Mistake(sentences, names[self.data.targets[position]], names[int(predicted[row])])


class Clusters(Classes):
    """The tested sentences, to be clustered into as many clusters as there are classes."""

    task = CLUSTERS
    measure = next(iter(METRICS[CLUSTERS]))

    def run(self, system: System, tick: Callable[[], None]) -> TaskResult:
        start, tested = time.perf_counter(), self.data.tested
        vectors = embedder(system)([self.data.sentences[row] for row in tested])
        seconds = time.perf_counter() - start
        tick()
        classes = self.data.targets[tested]
        gold, predicted = classes.astype(np.float64), clustered(vectors, classes).astype(np.float64)
        measures = measure(CLUSTERS, predicted, gold)
        samples = resampled(METRICS[CLUSTERS][self.measure], predicted, gold, self.groups)
        samples += measures[self.measure] - samples.mean()  # rows that a resample repeats make clusters look purer
        return TaskResult(measures=measures, samples=samples, predicted=predicted, sentences=len(vectors), seconds=seconds)


def clustered(vectors: Vectors, classes: Integers) -> Integers:
    """Cluster the vectors, (n, dim), by k-means and name each cluster by a class, one to one, so that most rows match. -> (n,)."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import MiniBatchKMeans

    known, numbers = np.unique(classes, return_inverse=True)
    clusters = MiniBatchKMeans(len(known), batch_size=BATCH, n_init=STARTS, random_state=SEED).fit_predict(unit_rows(vectors))
    table = np.zeros((len(known), len(known)), np.int64)
    np.add.at(table, (clusters, numbers), 1)
    return known[linear_sum_assignment(table, maximize=True)[1]][clusters]


def pair_features(u: Vectors, v: Vectors) -> Vectors:
    """|u − v| and u ∗ v side by side, as SentEval has them. (n, dim) twice -> (n, 2 dim)."""
    from sbert_app.training.transfer import scaled

    # To a mean length of √dim: of embeddings of length 1 the products would be far smaller than the differences.
    both = scaled(np.concatenate([u, v]))
    u, v = both[: len(u)], both[len(u) :]
    return np.concatenate([np.abs(u - v), u * v], axis=1)


def measures_of(data: LabelledSentences, result: "Transfer") -> dict[str, float]:
    """The accuracy; of pairs with two classes also the F1 of the class that means "the same". 0..1."""
    if data.positive < 0 or len(data.classes) != 2:
        return {"accuracy": result.accuracy}
    right = (data.targets if data.test is None else data.targets[data.test]) == data.positive
    positive = result.predicted == data.positive
    return {"accuracy": result.accuracy, "f1": float(2 * (right & positive).sum() / max(1, right.sum() + positive.sum()))}
