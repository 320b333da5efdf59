"""A data set: what it holds, how a system is measured on it, what the system gets wrong; and the data sets of pairs."""

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.agreement import rank_shares
from sbert_app.evaluation.metrics import resampled
from sbert_app.evaluation.verdict import LEAST_HELD_OUT, METRICS, measure
from sbert_app.grid.systems import Embed, System
from sbert_app.labelled.example_set import seen_by
from sbert_app.labelled.examples import Examples
from sbert_app.vectors import Array, Integers
from sbert_app.wording import amount, plural, short

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


@dataclass(frozen=True, kw_only=True)
class TaskResult:
    """How a system did. Systems on one data set share the resamples, so their differences are paired."""

    measures: dict[str, float]  # the main one first, as fractions
    samples: NDArray[np.floating[Any]] = field(repr=False, compare=False)  # the main one of each resample, (R,)
    # The score of each tested example, (n,); of classes the class's number, of queries the measure.
    predicted: NDArray[np.floating[Any]] = field(repr=False, compare=False)
    sentences: int  # how many were read in `seconds`
    seconds: float
    subsets: dict[str, float] = field(default_factory=dict)  # the main measure of each
    seen: int = 0  # pairs that the system was trained on, as far as is known
    protocol: str = ""  # of classes, how they were learnt
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)  # of rankings, that of each measure


@dataclass(frozen=True)
class Mistake:
    """An example: its sentences, shortened, the right answer and the system's, both in words."""

    sentences: tuple[str, ...]
    expected: str
    given: str


@dataclass(frozen=True)
class DataSet(ABC):
    """One column of the grid: examples with right answers, and what a system has to do with them."""

    name: str
    _: KW_ONLY
    notes: Sequence[str] = ()  # how its table was read, and what was left out
    purpose: str = ""  # what a set asks for that models are not trained for, "" for others
    subsets: tuple[str, ...] = ()  # of pairs, that of each example, such as "headlines" of STS 2013, empty where there are none

    @property
    @abstractmethod
    def task(self) -> str:
        """One of TASKS."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[list[str]]:
        """The sentences: two columns of pairs, three of triplets; queries and documents."""

    @property
    def measure(self) -> str:
        """The main measure."""
        return next(iter(METRICS[self.task]))

    @property
    def size(self) -> int:
        """The examples that are tested, n."""
        return len(self.columns[0])

    @property
    def amount(self) -> str:
        """The examples in words, such as "1,379 pairs" or "1 query"."""
        units = UNITS[self.task]
        return amount(self.size, units.replace("ies", "ys")[:-1], units)

    @property
    def remarks(self) -> list[str]:
        """The notes, and that the examples are too few to tell systems apart: resamples of one query are all alike."""
        few = f"{self.amount} {plural(self.size, 'is', 'are')} too few to tell systems apart: at least {LEAST_HELD_OUT} are needed."
        return [*self.notes, *([few] if self.size < LEAST_HELD_OUT else [])]

    @property
    def groups(self) -> Integers:
        """Which examples belong together, (n,), and are no independent observations. By default each is on its own."""
        return np.arange(self.size)

    @cached_property
    def digest(self) -> str:
        """Hash of the sentences, the right answers and the task: equal for equal content, whatever the name. 16 hex digits."""
        digest = hashlib.blake2b(self.task.encode(), digest_size=8)
        for column in self.columns:
            digest.update("\0".join(column).encode())
        for part in self.answers():
            digest.update(b"-" if part is None else part.tobytes())
        return digest.hexdigest()

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


@dataclass(frozen=True)
class PairSet(DataSet):
    """Scored or labelled pairs, triplets, or pairs that belong together."""

    examples: Examples

    @property
    def task(self) -> str:
        return self.examples.kind

    @property
    def columns(self) -> Sequence[list[str]]:
        return self.examples.sentences

    @property
    def groups(self) -> Integers:
        return self.examples.groups

    def answers(self) -> Iterator[NDArray[Any] | None]:
        yield self.examples.gold
        yield np.array(self.subsets)

    def run(self, system: System, tick: Callable[[], None]) -> TaskResult:
        start = time.perf_counter()
        predicted, gold = system.score(self.examples, self.subsets), self.examples.gold
        seconds = time.perf_counter() - start
        members = {name: np.flatnonzero(np.array(self.subsets) == name) for name in sorted(set(self.subsets))}
        return TaskResult(
            measures=measure(self.task, predicted, gold),
            samples=resampled(METRICS[self.task][self.measure], predicted, gold, self.groups),
            predicted=predicted,
            sentences=sum(map(len, self.columns)),
            seconds=seconds,
            subsets={name: measure(self.task, predicted[rows], gold[rows])[self.measure] for name, rows in members.items()},
            seen=seen_by(system.trained_on, self.examples),
        )

    def distances(self, predicted: Array) -> Array:
        """Of the ranking, 0..1; of triplets and partners how far the wrong one is ahead."""
        if self.task in ("triplets", "positives"):
            return np.maximum(0.0, -predicted)
        return np.abs(rank_shares(predicted) - rank_shares(self.examples.gold))

    def example(self, predicted: Array, row: int) -> Mistake:
        examples = self.examples
        sentences = tuple(short(column[row], SHORT) for column in self.columns)
        if self.task in ("triplets", "positives"):
            given = f"another is closer by {-predicted[row]:.2f}" if predicted[row] <= 0 else "the first is closer"
            return Mistake(sentences, "the first partner is closer", given)
        expected, given = (f"closer than {100 * rank_shares(values)[row]:.0f} %" for values in (examples.gold, predicted))
        if self.task == "labelled":
            return Mistake(sentences, examples.labels[int(examples.targets[row])], given)
        low, high = examples.score_range
        return Mistake(sentences, f"{low + (high - low) * examples.targets[row]:.3g} of {max(low, high):g}: {expected}", given)
