"""Evaluate systems on data whose right answers are known: SBERT, a cross-encoder, and what the paper compares them with."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.evaluation.verdict import Verdict, judge, measure
from sbert_app.grid.loading import load_system, of_cross_encoder, of_encoder
from sbert_app.grid.rankers import Tick, joined, streamed
from sbert_app.grid.systems import SBERT, Choice, System, check_names
from sbert_app.labelled.columns import ColumnRoles, guess_mapping
from sbert_app.labelled.examples import Examples, Reading, read_examples
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder
    from sbert_app.models.encoder import Encoder


@dataclass(frozen=True)
class SystemResult:
    """One system's measures as fractions, the number of sentences scored, and the seconds it took."""

    system: str
    model: str
    measures: dict[str, float]
    sentences: int
    seconds: float


class EvaluationService:
    """Stateless apart from the workbench."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def read(self, table: Table, mapping: ColumnRoles | None = None) -> Reading:
        """Read every usable row, including repeated ones."""
        return read_examples(table, mapping or guess_mapping(table.frame), self._bench.settings.limits, repeats=True, least=2)

    def evaluate(
        self,
        examples: Examples,
        systems: Sequence[str] = (SBERT,),
        choice: Choice = Choice(),  # noqa: B008 - cannot be changed
        stop: Stop | None = None,
        subsets: Sequence[str] = (),
    ) -> list[SystemResult]:
        """Measure each system on the same examples, after waiting in the queue. Raises UserError for an unknown system.

        subsets: of each example, for a system that learns.
        """
        check_names(self._bench, validation.names(list(systems), "systems"))
        stop = stop or Stop()
        with self._bench.lines.corpora.join(stop) as waiting:
            deque(waiting, maxlen=0)
            stop.tick()
            loaded = (load_system(self._bench, name, choice, examples.sentences, stop.tick) for name in systems)
            return [self._measure(system, examples, subsets, stop.tick) for system in loaded]

    def compare(self, examples: Examples, encoder: "Encoder", cross: "CrossEncoder", most: int) -> Verdict | None:
        """Compare SBERT (before) with the cross-encoder (after) on at most `most` examples. None for pairs without scores."""
        if examples.kind == "positives":
            return None
        sample = examples.take(np.random.default_rng(0).permutation(len(examples))[:most])
        sbert, other = of_encoder(self._bench, encoder), of_cross_encoder(self._bench, cross)
        return judge(sample.kind, sbert.score(sample), other.score(sample), sample.gold)

    def _measure(self, system: System, examples: Examples, subsets: Sequence[str], tick: Tick) -> SystemResult:
        start = time.perf_counter()
        predicted = system.score(examples, subsets)
        measures, sentences = measure(examples.kind, predicted, examples.gold), sum(map(len, examples.sentences))
        result = SystemResult(system.name, system.model, measures, sentences, time.perf_counter() - start)
        if system.name == SBERT and examples.kind == "labelled":
            self._add_head(result, examples, tick)
        return result

    def _add_head(self, result: SystemResult, examples: Examples, tick: Tick) -> None:
        """Add the accuracy of the softmax head that the encoder was trained with, if it has one for these labels."""
        encoder = self._bench.registry.encoder(result.model)
        from sbert_app.training.siamese import load_head, predict_labels

        head = load_head(encoder.folder) if encoder.folder else None
        if head and head[1] == examples.labels:
            stream = streamed(self._bench, encoder, tick)
            columns = [joined(len(column), stream(column)) for column in examples.sentences]
            predicted = predict_labels(head[0], *columns)
            result.measures["head_accuracy"] = float((predicted == examples.targets).mean())
