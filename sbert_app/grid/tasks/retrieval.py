"""Queries with judged documents: a system ranks the documents."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.evaluation.estimate import interval, resampled
from sbert_app.evaluation.weighted import Array, mean
from sbert_app.grid.systems import System
from sbert_app.grid.tasks.ranking import RANKING, measures
from sbert_app.grid.tasks.task import RETRIEVAL, Mistake, Outcome, Task, short
from sbert_app.labelled.queries import Queries


@dataclass(frozen=True)
class Retrieval(Task):
    """What is predicted of a query is its main measure, 0..1."""

    queries: Queries

    @property
    def name(self) -> str:
        return RETRIEVAL

    @property
    def measure(self) -> str:
        return RANKING[0]

    @property
    def size(self) -> int:
        return len(self.queries.queries)

    @property
    def columns(self) -> Sequence[list[str]]:
        return [self.queries.queries, self.queries.documents]

    def answers(self) -> Iterator[NDArray[Any] | None]:
        yield from (np.array(sorted(relevant.items())) for relevant in self.queries.relevant)
        yield from self.queries.candidates or ()

    def run(self, system: System, tick: Callable[[], None]) -> Outcome:
        start = time.perf_counter()
        values = measures(self.queries, system.rank(self.queries))
        seconds, predicted = time.perf_counter() - start, values[self.measure]
        means = {name: float(column.mean()) for name, column in values.items()}
        samples = {name: resampled(mean, column, column, self.groups) for name, column in values.items()}
        estimates = {name: interval(means[name], drawn) for name, drawn in samples.items()}
        intervals = {name: (estimate.low, estimate.high) for name, estimate in estimates.items()}
        read = sum(map(len, self.columns))
        return Outcome(predicted, means, samples[self.measure], read, seconds, intervals=intervals)

    def distances(self, predicted: Array) -> Array:
        return 1 - predicted

    def example(self, predicted: Array, row: int) -> Mistake:
        relevant = self.queries.relevant[row]
        best = max(relevant, key=lambda document: relevant[document])
        given = f"nDCG@10 {100 * predicted[row]:.0f}"
        return Mistake((short(self.queries.queries[row]),), short(self.queries.documents[best]), given)
