"""Measure transfer: train linear classifiers on a model's embeddings of labelled sentences, by SentEval's protocol."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.errors import UserError
from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_sentences
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.stop import APP_STOPPING, Stop, Visitor
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.training.transfer import FOLDS, cross_validated, with_test_part
from sbert_app.vectors import Vectors


@dataclass(frozen=True)
class TransferResult:
    """Accuracy of a model's embeddings, 0..1, and of always predicting the most frequent class; by which protocol; seconds."""

    model: str
    accuracy: float
    most_frequent: float
    folds: list[float]
    l2: list[float]
    protocol: str
    seconds: dict[str, float]


class TransferService:
    """Stateless apart from the workbench."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def read(
        self, table: Table, text: str = "", label: str = "", test: Table | None = None, dev: Table | None = None
    ) -> LabelledSentences:
        """Read the tables, with guessed columns if these are "". Raises UserError for data that cannot be learnt from."""
        return read_labelled_sentences(table, self._bench.settings.limits, text, label, test, dev)

    def measure(
        self, data: LabelledSentences, model: str = DEFAULT_ENCODER, visitor: Visitor | None = None
    ) -> Iterator[str | TransferResult]:
        """Yield the stages as texts, at last the result, after waiting in the queue."""
        encoder, stop = self._bench.registry.encoder(model), Stop(visitor)

        def tick() -> None:
            if stop.is_set():
                raise UserError(APP_STOPPING)

        with self._bench.lines.corpora.join(stop) as waiting:
            yield from (place_in_line(before, "job") for before in waiting)
            yield f"Embedding {len(data.sentences):,} sentences"
            start = time.perf_counter()
            features = np.empty((len(data.sentences), encoder.dim), np.float32)
            for rows, vectors in self._bench.device.stream(encoder, data.sentences):
                features[rows] = vectors
                tick()
            embedded = time.perf_counter()
            yield "Training the classifiers"
            yield _result(model, data, features, tick, embedded - start)


def _result(model: str, data: LabelledSentences, features: Vectors, tick: Callable[[], None], seconds: float) -> TransferResult:
    start = time.perf_counter()
    if data.test is None:
        transfer = cross_validated(features, data.targets, tick=tick)
        protocol = f"nested cross-validation, {FOLDS} folds"
    else:
        transfer = with_test_part(features, data.targets, data.test, data.dev, tick=tick)
        protocol = "test part, weight decay chosen " + (
            "on the dev part" if data.dev is not None else f"by {FOLDS} folds of the rest"
        )
    times = {"embedding": seconds, "classifiers": time.perf_counter() - start}
    return TransferResult(model, transfer.accuracy, data.most_frequent, transfer.folds, transfer.l2, protocol, times)


def lines(result: TransferResult, data: LabelledSentences) -> Sequence[str]:
    """The result as text for the shell."""
    seconds = sum(result.seconds.values())
    return [
        f"accuracy {100 * result.accuracy:.2f}, most frequent class {100 * result.most_frequent:.2f} "
        f"({len(data.sentences):,} sentences, {len(data.classes):,} classes; {result.protocol}; {seconds:.1f} s)"
    ]
