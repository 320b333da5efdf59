"""Measure transfer: train linear classifiers on a model's embeddings of labelled sentences or pairs, by SentEval's protocol."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.grid.tasks.classes import features_of, learn, measures_of
from sbert_app.labelled.columns import has_pairs
from sbert_app.labelled.labelled_sentences import LabelledSentences, read_labelled_pairs, read_labelled_sentences
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.vectors import Vectors


@dataclass(frozen=True)
class TransferResult:
    """Accuracy of a model's embeddings, 0..1, and of always predicting the most frequent class; by which protocol; seconds.

    f1: of pairs with two classes, that of the class that means "the same". l2: the weight decay of each fold; c: of the quick form.
    """

    model: str
    accuracy: float
    f1: float | None
    most_frequent: float
    folds: list[float]
    l2: list[float]
    c: list[float]
    quick: bool
    protocol: str
    seconds: dict[str, float]


class TransferService:
    """Stateless apart from the workbench."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def read(
        self, table: Table, text: str = "", label: str = "", test: Table | None = None, dev: Table | None = None
    ) -> LabelledSentences:
        """Read the tables, with guessed columns if these are ""; as pairs if they hold pairs and no text column is named.

        Raises UserError for data that cannot be learnt from.
        """
        if not text and has_pairs(table.frame):
            return read_labelled_pairs(table, self._bench.settings.limits, label, test, dev)
        return read_labelled_sentences(table, self._bench.settings.limits, text, label, test, dev)

    def measure(
        self, data: LabelledSentences, model: str = DEFAULT_ENCODER, quick: bool = False, stop: Stop | None = None
    ) -> Iterator[str | TransferResult]:
        """Yield the stages as texts, at last the result, after waiting in the queue. quick: by scikit-learn, in five folds."""
        encoder, stop = self._bench.registry.encoder(model), stop or Stop()

        def embed(sentences: Sequence[str]) -> Vectors:
            vectors = np.empty((len(sentences), encoder.dim), np.float32)
            for rows, values in self._bench.device.stream(encoder, sentences):
                vectors[rows] = values
                stop.tick()
            return vectors

        with self._bench.lines.corpora.join(stop) as waiting:
            yield from (place_in_line(before, "job") for before in waiting)
            yield f"Embedding {sum(map(len, data.columns)):,} sentences"
            start = time.perf_counter()
            features = features_of(data, embed)
            embedded = time.perf_counter()
            yield "Training the classifiers, the quick form" if quick else "Training the classifiers"
            result = learn(features, data, quick, stop.tick)
            seconds = {"embedding": embedded - start, "classifiers": time.perf_counter() - embedded}
            l2, c = ([], result.chosen) if quick else (result.chosen, [])
            f1 = measures_of(data, result).get("f1")
            yield TransferResult(
                model, result.accuracy, f1, data.most_frequent, result.folds, l2, c, quick, result.protocol, seconds
            )


def lines(result: TransferResult, data: LabelledSentences) -> Sequence[str]:
    """The result as text for the shell."""
    seconds = sum(result.seconds.values())
    f1 = "" if result.f1 is None else f", F1 {100 * result.f1:.2f}"
    return [
        f"accuracy {100 * result.accuracy:.2f}{f1}, most frequent class {100 * result.most_frequent:.2f} "
        f"({len(data.sentences):,} {'pairs' if data.partners else 'sentences'}, {len(data.classes):,} classes; {result.protocol}; "
        f"{seconds:.1f} s)"
    ]
