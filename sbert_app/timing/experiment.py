"""The whole measurement: its conditions, then warm up, race, run all pairs of a few sentences, time searches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from sbert_app.evaluation.agreement import agreement
from sbert_app.timing import measurements
from sbert_app.timing.lane import Device
from sbert_app.timing.measurements import SmallRun, encode_seconds, query_timings, small_run
from sbert_app.timing.race import Race, RaceState, product_throughput
from sbert_app.timing.result import Answer, Conditions, TimingResult
from sbert_app.vectors import unit_rows

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder
    from sbert_app.models.encoder import Encoder

CHECK_SECONDS = 4.0  # of cross-encoder computing, for all pairs of a few sentences
QUERIES = 24
DONE, STOPPED = FINAL_STAGES = "Done", "Stopped"  # stages of the last moment


@dataclass(frozen=True)
class Moment:
    """A progress report: the stage, the state of both lanes, the result so far, and once the models are loaded, the conditions."""

    stage: str
    state: RaceState | None = None
    result: TimingResult | None = None
    conditions: Conditions | None = None


class Experiment:
    """`run` yields a moment after each batch. The last one holds the result, or None if it was stopped too early."""

    def __init__(
        self, encoder: "Encoder", cross: "CrossEncoder", sentences: list[str], conditions: Conditions, device: Device
    ) -> None:
        self._encoder, self._cross, self._device = encoder, cross, device
        self._sentences, self._conditions = sentences, conditions
        self._race = Race(encoder, cross, sentences, device)

    def run(self, seconds: float, stopping: Callable[[], bool]) -> Iterator[Moment]:
        """Run all measurements. `seconds`: of cross-encoder computing in the race. Ends early once `stopping`."""
        yield Moment("Warming up, not counted")
        self._race.warm_up()
        with closing(self._race.run(seconds)) as states:
            for state in states:
                yield Moment("Racing", state)
                if stopping():
                    break
        result = self._race_result()
        state = self._race.state
        if result and not stopping():
            for stage, extended in self._checks(result):
                result = extended
                yield Moment(stage, state, result)
                if stopping():
                    break
        yield Moment(STOPPED if stopping() else DONE, state, result and replace(result, stopped=stopping()))

    def _race_result(self) -> TimingResult | None:
        cross, encode = self._race.cross.throughput(), self._race.sbert.throughput()
        if cross is None or encode is None:
            return None
        product = product_throughput(self._encoder.dim, self._device)
        return TimingResult(self._conditions, cross, encode, product, self._answer(), waited=self._race.state.waited)

    def _answer(self) -> Answer | None:
        pair, seconds = self._race.closest, self._race.state.answer_seconds
        if pair is None or seconds is None:
            return None
        return Answer(pair, self._sentences[pair.row1], self._sentences[pair.row2], seconds)

    def _checks(self, result: TimingResult) -> Iterator[tuple[str, TimingResult]]:
        """Run the measurements after the race; yields (stage, result so far)."""
        sizes = measurements.sizes(len(self._sentences), result.cross.rate, CHECK_SECONDS)
        runs: list[SmallRun] = []
        for size in sizes:
            for run in small_run(self._encoder, self._cross, self._sentences[:size], self._device):
                runs += [run] if run else []
                yield f"Running both on all pairs of {sizes[-1]} sentences", result
        agreed = agreement(runs[-1].sbert_scores, runs[-1].cross_scores) if result.conditions.head_trained else None
        result = replace(result, runs=tuple(runs), agreement=agreed)
        yield "Timing searches", result
        result = replace(result, encode_one=encode_seconds(self._encoder, self._sentences[:QUERIES], self._device))
        for timing in query_timings(unit_rows(self._race.embeddings), self._device):
            result = replace(result, queries=(*result.queries, timing))
            yield "Timing searches", result


def conditions_of(
    corpus: str, sentences: Sequence[str], encoder: "Encoder", cross: "CrossEncoder", trained: bool, notes: tuple[str, ...] = ()
) -> Conditions:
    """The conditions of a race on these sentences, today. trained: whether the cross-encoder's head is."""
    from sbert_app.models.engine.hardware import machine
    from sbert_app.timing.contestants import same_backbone, size_of

    return Conditions(
        corpus=corpus,
        sentences=len(sentences),
        encoder=encoder.name,
        cross_encoder=cross.name,
        head_trained=trained,
        same_backbone=same_backbone(encoder, cross),
        machine=machine(),
        hardware=encoder.runs_on,
        max_tokens=(encoder.max_length, cross.max_length),
        date=date.today().isoformat(),
        notes=notes,
        trained_for=cross.trained_for,
        sizes=(size_of(encoder), size_of(cross)),
    )
