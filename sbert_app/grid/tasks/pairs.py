"""Scored or labelled pairs, triplets, and pairs that belong together: a system scores each example."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.agreement import rank_shares
from sbert_app.evaluation.metrics import resampled
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.grid.systems import System
from sbert_app.grid.tasks.task import Mistake, Task, TaskResult, short
from sbert_app.labelled.example_set import Examples, digests
from sbert_app.vectors import Array


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
