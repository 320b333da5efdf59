"""One cell of the grid: how well a system does on a data set, with what is needed to compare it with other systems."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.evaluation.estimate import interval, resampled
from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.evaluation.weighted import Array, mean, share_positive
from sbert_app.grid import ranking
from sbert_app.grid.data_sets import DataSet
from sbert_app.grid.systems import Embed, System
from sbert_app.grid.tasks import clustered
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.labelled_sentences import LabelledSentences
from sbert_app.labelled.queries import Queries
from sbert_app.labelled.training_pairs import digests
from sbert_app.training.classes import features_of, learn, measures_of
from sbert_app.training.transfer import Transfer

Values = NDArray[np.float32]


@dataclass(frozen=True)
class Cell:
    """A system on a data set. value, low, high: the main measure and its 95 % interval, as fractions.

    samples: the main measure of each resample, (R,); systems on one data set share the resamples, so their differences are paired.
    predicted: the score of each tested example, (n,); of classes the class's number, of queries the measure. sentences: how many
    were read in `seconds`. subsets: the main measure of each. seen: pairs that the system was trained on, as far as is known.
    """

    system: str
    model: str
    data_set: str
    task: str
    measures: dict[str, float]
    value: float
    low: float
    high: float
    sentences: int
    seconds: float
    day: str
    seen: int
    subsets: dict[str, float]
    samples: Values = field(repr=False, compare=False)
    predicted: Values = field(repr=False, compare=False)
    protocol: str = ""  # of classes: how they were learnt

    @property
    def measure(self) -> str:
        """The name of the main measure."""
        return next(iter(self.measures))

    def facts(self) -> dict[str, Any]:
        """All but the arrays, as plain JSON."""
        return {name: value for name, value in vars(self).items() if name not in ("samples", "predicted")}


def measure_cell(system: System, data: DataSet, tick: Callable[[], None] = lambda: None) -> Cell:
    """Score the data set and measure. tick: called between steps, may raise. Raises UserError if the system cannot do the task."""
    start, protocol = time.perf_counter(), ""
    if isinstance(data.content, Examples):
        predicted = system.score(data.content, data.subsets)
        seconds, sentences = time.perf_counter() - start, sum(map(len, data.content.sentences))
        gold, metric = data.content.gold, METRICS[data.task][data.measure]
        measures = measure(data.task, predicted, gold)
        subsets = _of_subsets(data, predicted)
        seen = int(np.isin(digests(data.content), system.trained_on).sum()) if len(system.trained_on) else 0
        samples = resampled(metric, predicted, gold, data.groups)
    elif isinstance(data.content, Queries):
        seen, subsets = 0, {}
        values = ranking.measures(data.content, system.rank(data.content))
        seconds, sentences = time.perf_counter() - start, sum(map(len, data.columns))
        predicted, measures = values[data.measure], {name: float(column.mean()) for name, column in values.items()}
        samples = resampled(mean, predicted, predicted, data.groups)
    elif data.clustered:
        seen, subsets, classes = 0, {}, data.content.targets[data.tested]
        vectors = _embed(system)([data.content.sentences[row] for row in data.tested])
        seconds = time.perf_counter() - start
        tick()
        gold, predicted, sentences = classes.astype(np.float64), clustered(vectors, classes).astype(np.float64), len(vectors)
        measures = measure(data.task, predicted, gold)
        samples = resampled(METRICS[data.task][data.measure], predicted, gold, data.groups)
        samples += measures[data.measure] - samples.mean()  # rows that a resample repeats make clusters look purer
    else:
        seen, subsets = 0, {}
        transfer, seconds = _classified(system, data.content, data.quick, tick)
        predicted, sentences, protocol = transfer.predicted.astype(np.float64), sum(map(len, data.columns)), transfer.protocol
        right = (transfer.predicted == data.content.targets[data.tested]).astype(np.float64)
        measures = measures_of(data.content, transfer)
        samples = resampled(share_positive, right, right, data.groups)
    estimate = interval(measures[data.measure], samples)
    return Cell(
        system.name, system.model, data.name, data.task, measures, estimate.value, estimate.low, estimate.high, sentences, seconds,
        date.today().isoformat(), seen, subsets, samples.astype(np.float32), predicted.astype(np.float32),
        protocol,
    )  # fmt: skip


def _of_subsets(data: DataSet, predicted: Array) -> dict[str, float]:
    """The main measure of each subset, in alphabetical order."""
    if not isinstance(data.content, Examples):
        return {}
    members = {name: np.flatnonzero(np.array(data.subsets) == name) for name in sorted(set(data.subsets))}
    gold = data.content.gold
    return {name: measure(data.task, predicted[rows], gold[rows])[data.measure] for name, rows in members.items()}


def _classified(system: System, data: LabelledSentences, quick: bool, tick: Callable[[], None]) -> tuple[Transfer, float]:
    """Return (how well the classes were learnt, seconds to embed all sentences)."""
    start = time.perf_counter()
    features = features_of(data, _embed(system))
    seconds = time.perf_counter() - start
    return learn(features, data, quick, tick), seconds


def _embed(system: System) -> Embed:
    """What embeds sentences. Raises UserError for a system without vectors."""
    if system.embed is None:
        raise UserError("Scores pairs only: gives no vectors to learn classes from.")
    return system.embed
