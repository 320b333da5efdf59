"""The interface of the tasks: what a data set holds, how a system is measured on it, what it gets wrong; and the task of pairs."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import rank_shares
from sbert_app.evaluation.metrics import resampled
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.grid.systems import Embed, System
from sbert_app.labelled.example_set import Examples, digests
from sbert_app.vectors import Array

RETRIEVAL, CLASSES, PAIR_CLASSES, CLUSTERS = "retrieval", "classes", "pair classes", "clusters"
TASKS = {  # what a system has to do
    "scored": "score pairs in the order that people do",
    "labelled": "score pairs that mean the same higher than others",
    "triplets": "score the right partner higher than the wrong one",
    "positives": "find the right partner among all",
    RETRIEVAL: "rank documents, or the answers to a question, by how well they fit a query",
    CLASSES: "give each sentence a vector from which a linear classifier learns its class",
    PAIR_CLASSES: "the same for pairs, from |u − v| and u ∗ v: of labelled pairs in files named X_train and X_test",
    CLUSTERS: "give each sentence a vector by which k-means puts those of one class together",
}
UNITS = {"scored": "pairs", "labelled": "pairs", "positives": "pairs", PAIR_CLASSES: "pairs", "triplets": "triplets"}
UNITS |= {RETRIEVAL: "queries", CLASSES: "sentences", CLUSTERS: "sentences"}  # what a task's examples are
SHORT = 160  # characters of a sentence in a list


@dataclass(frozen=True)
class TaskResult:
    """How a system did: the fields are those of `Cell`. measures: the main one first."""

    predicted: Array
    measures: dict[str, float]
    samples: Array
    sentences: int
    seconds: float
    subsets: dict[str, float] = field(default_factory=dict)
    seen: int = 0
    protocol: str = ""
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Mistake:
    """An example: its sentences, shortened, the right answer and the system's, both in words."""

    sentences: tuple[str, ...]
    expected: str
    given: str


class Task(ABC):
    """Examples with right answers, n of them tested (`size`)."""

    @property
    @abstractmethod
    def name(self) -> str:
        """One of TASKS."""

    @property
    @abstractmethod
    def measure(self) -> str:
        """The main measure."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The examples that are tested."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[list[str]]:
        """The sentences: two columns of pairs, three of triplets; queries and documents."""

    @property
    def groups(self) -> NDArray[np.int64]:
        """Which examples belong together, (n,), and are no independent observations. By default each is on its own."""
        return np.arange(self.size)

    @abstractmethod
    def answers(self) -> Iterator[NDArray[Any] | None]:
        """What is known of each example, as arrays: to tell data sets apart."""

    @abstractmethod
    def run(self, system: System, tick: Callable[[], None]) -> TaskResult:
        """Measure a system. tick: called between steps, may raise. Raises UserError if the system cannot do the task."""

    @abstractmethod
    def distances(self, predicted: Array) -> Array:
        """How far each example is from its right answer, (n,), 0 where it is right."""

    @abstractmethod
    def example(self, predicted: Array, row: int) -> Mistake:
        """A tested example in words."""


def embedder(system: System) -> Embed:
    """What embeds sentences. Raises UserError for a system without vectors."""
    if system.embed is None:
        raise UserError("Scores pairs only: gives no vectors to learn classes from.")
    return system.embed


def short(text: str) -> str:
    """A text cut to SHORT characters."""
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"


@dataclass(frozen=True)
class PairTask(Task):
    """subsets: the subset of each example, such as "headlines" of STS 2013; empty where there are none."""

    examples: Examples
    subsets: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.examples.kind

    @property
    def measure(self) -> str:
        return next(iter(METRICS[self.name]))

    @property
    def size(self) -> int:
        return len(self.examples)

    @property
    def columns(self) -> Sequence[list[str]]:
        return self.examples.sentences

    @property
    def groups(self) -> NDArray[np.int64]:
        """Examples with the same first sentence belong together."""
        return np.unique(self.examples.normalised[0], return_inverse=True)[1].astype(np.int64)

    def answers(self) -> Iterator[NDArray[Any] | None]:
        yield self.examples.targets
        yield np.array(self.subsets)

    def run(self, system: System, tick: Callable[[], None]) -> TaskResult:
        start = time.perf_counter()
        predicted, gold = system.score(self.examples, self.subsets), self.examples.gold
        seconds = time.perf_counter() - start
        samples = resampled(METRICS[self.name][self.measure], predicted, gold, self.groups)
        seen = int(np.isin(digests(self.examples), system.trained_on).sum()) if len(system.trained_on) else 0
        measures, sentences = measure(self.name, predicted, gold), sum(map(len, self.columns))
        return TaskResult(predicted, measures, samples, sentences, seconds, self._of_subsets(predicted), seen)

    def _of_subsets(self, predicted: Array) -> dict[str, float]:
        """The main measure of each subset, in alphabetical order."""
        members = {name: np.flatnonzero(np.array(self.subsets) == name) for name in sorted(set(self.subsets))}
        gold = self.examples.gold
        return {name: measure(self.name, predicted[rows], gold[rows])[self.measure] for name, rows in members.items()}

    def distances(self, predicted: Array) -> Array:
        """Of the ranking, 0..1; of triplets and partners how far the wrong one is ahead."""
        if self.name in ("triplets", "positives"):
            return np.maximum(0.0, -predicted)
        return np.abs(rank_shares(predicted) - rank_shares(self.examples.gold))

    def example(self, predicted: Array, row: int) -> Mistake:
        sentences = tuple(short(column[row]) for column in self.columns)
        return Mistake(sentences, self._expected(row), self._given(predicted, row))

    def _expected(self, row: int) -> str:
        examples = self.examples
        if self.name == "scored":
            low, high = examples.score_range
            return f"{low + (high - low) * examples.targets[row]:.3g} of {high:g}: {_place(examples.gold, row)}"
        return examples.labels[int(examples.targets[row])] if self.name == "labelled" else "the first partner is closer"

    def _given(self, predicted: Array, row: int) -> str:
        if self.name in ("triplets", "positives"):
            return f"another is closer by {-predicted[row]:.2f}" if predicted[row] <= 0 else "the first is closer"
        return _place(predicted, row)


def _place(values: Array, row: int) -> str:
    return f"closer than {100 * rank_shares(values)[row]:.0f} %"
