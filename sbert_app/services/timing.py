"""Race a cross-encoder against SBERT: one race at a time, sharing the device batch by batch with other jobs."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import Verdict, judge
from sbert_app.grid.loading import of_cross_encoder, of_encoder
from sbert_app.labelled.examples import Examples, read_examples
from sbert_app.labelled.training_data import TrainingData
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.timing.experiment import FINAL_STAGES, STOPPED, Experiment, Moment
from sbert_app.timing.measurements import SystemSpeed, measure_systems
from sbert_app.timing.result import TimingResult

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import CrossEncoder
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.files.listing import ModelInfo

log = logging.getLogger(__name__)

Step = TypeVar("Step")

LEAST_SENTENCES = 20
DEFAULT_SECONDS = 8
TABLE_SENTENCES = 1_000
READY_SECONDS = 4  # to wait for the faster engine of a model just loaded
QUALITY_PAIRS = 500
MOST_SECONDS_ON_SCREEN = 120
EXAMPLE_NAME = f"{CALIBRATION_EXAMPLE}, the example"
TIMING = "timing"  # job name


@dataclass(frozen=True)
class RaceCorpus:
    """The input of a race: unique sentences, and optionally labelled pairs to measure quality on."""

    name: str
    sentences: list[str]
    labelled: Examples | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waiting:
    """Waiting in the queue: `before` timing runs are ahead."""

    before: int


class TimingService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def race_corpus(self, session: Session) -> RaceCorpus:
        """The session's corpus, or the example tickets if there is none, with the session's labelled pairs."""
        indexed, data = session.get(IndexedCorpus), session.get(TrainingData)
        labelled = self._labelled(data) if data else None
        if indexed:
            return self.prepare(indexed.corpus.name, indexed.corpus.sentences, labelled)
        return self.prepare(EXAMPLE_NAME, self._bench.examples.table(CALIBRATION_EXAMPLE).frame["text"].tolist(), labelled)

    def indexed(self, session: Session) -> IndexedCorpus | None:
        """The session's corpus, None if the example is raced."""
        return session.get(IndexedCorpus)

    def prepare(self, name: str, sentences: Sequence[str], labelled: Examples | None = None) -> RaceCorpus:
        """Remove repeated sentences, shuffle, and cut to the limit. Raises UserError for too few."""
        unique = list(dict.fromkeys(sentences))
        if len(unique) < LEAST_SENTENCES:
            raise UserError(f"A race needs at least {LEAST_SENTENCES} different sentences, there are {len(unique)}. Add more.")
        sample = np.random.default_rng(0).permutation(len(unique))[: self._limits.raced_sentences]
        notes = [f"{len(sentences) - len(unique):,} repeated sentences left out."] if len(unique) < len(sentences) else []
        if len(sample) < len(unique):
            notes.append(f"{len(sample):,} of {len(unique):,} sentences, drawn at random.")
        return RaceCorpus(name, [unique[i] for i in sample.tolist()], labelled, tuple(notes))

    def can_race(self, session: Session) -> bool:
        """Whether the session's corpus has enough sentences for a race."""
        try:
            return bool(self.race_corpus(session))
        except UserError:
            return False

    @property
    def most_seconds(self) -> int:
        """The longest race that the page allows, in seconds."""
        return min(MOST_SECONDS_ON_SCREEN, self._limits.race_seconds)

    def race_session(self, session: Session, model: str, seconds: int, cross_encoder: str = "") -> Iterator[Waiting | Moment]:
        """Race on the session's corpus; the session keeps the result. Ends early if another corpus is opened."""
        corpus = self.race_corpus(session)
        stop = session.begin(TIMING)
        for step in self.race(corpus, model, seconds, stop, cross_encoder):
            if stop.revoked or (isinstance(step, Moment) and step.result and not session.put(step.result, stop)):
                return
            yield step

    def table_7_session(self, session: Session, model: str) -> Iterator[Waiting | list[SystemSpeed]]:
        """Measure Table 7 on the session's corpus."""
        corpus = self.race_corpus(session)
        return self.table_7(corpus, model, session.begin(TIMING))

    def last_result(self, session: Session) -> TimingResult | None:
        """Result of the session's last race on its open corpus; None if there is none."""
        return session.get(TimingResult)

    def result(self, session: Session) -> TimingResult:
        """Result of the session's last race. Raises UserError if there is none."""
        result = self.last_result(session)
        if result is None:
            raise UserError("There is no race result yet. Start a race.")
        return result

    def stop(self, session: Session) -> None:
        """Stop this session's timing after the current batch; measurements so far are kept."""
        session.stop(TIMING)

    def race(
        self,
        corpus: RaceCorpus,
        model: str = DEFAULT_ENCODER,
        seconds: int = DEFAULT_SECONDS,
        stop: Stop | None = None,
        cross_encoder: str = "",
    ) -> Iterator[Waiting | Moment]:
        """Race both systems, the cross-encoder working for `seconds`, then check the result, which the last moment holds.

        cross_encoder: which; "": one with the encoder's backbone. Raises UserError, while it loads, for one with several labels.
        """
        seconds = validation.whole_number(seconds, "number of seconds", 1, self._limits.race_seconds)
        stop = stop or Stop()
        return self._in_line(self._race(corpus, (model, cross_encoder), seconds, stop), Moment(STOPPED), stop)

    def cross_encoders(self) -> Sequence["ModelInfo"]:
        """The available cross-encoders that give a pair one score."""
        return self._bench.registry.pair_scorers(["cross-encoder"])

    def table_7(
        self, corpus: RaceCorpus, model: str = DEFAULT_ENCODER, stop: Stop | None = None
    ) -> Iterator[Waiting | list[SystemSpeed]]:
        """Measure the paper's Table 7 on the CPU, and on the GPU if the app uses one; yields the rows after each round."""
        return self._in_line(self._table_7(corpus, model, stop := stop or Stop()), [], stop)

    def _labelled(self, data: TrainingData) -> Examples | None:
        """The Fine-tune tab's examples in the columns chosen there, repeated ones included; None if unusable, such as too few."""
        try:
            return read_examples(data.table, data.mapping, self._limits, repeats=True, least=2).examples
        except UserError as error:
            log.info("labelled data not used: %s", error)
            return None

    def _in_line(self, work: Iterator[Step], stopped: Step, stop: Stop) -> Iterator[Waiting | Step]:
        """Wait in the queue, then yield the steps of the work; yields `stopped` if stopped while waiting."""
        with self._bench.lines.timing.join(stop) as waiting:
            for before in waiting:
                yield Waiting(before)
            if stop.is_set():
                yield stopped
                return
            try:
                yield from work
            finally:
                self._bench.registry.release()

    def _race(self, corpus: RaceCorpus, models: tuple[str, str], seconds: int, stop: Stop) -> Iterator[Moment]:
        from sbert_app.timing.contestants import cross_encoder_like, on_one_engine
        from sbert_app.timing.experiment import conditions_of

        yield Moment("Loading the models")
        encoder = self._bench.registry.encoder(models[0])
        cross, trained = cross_encoder_like(self._bench.registry, encoder, models[1])
        self._bench.registry.acceleration.wait(READY_SECONDS)
        encoder, cross = on_one_engine(encoder, cross)
        conditions = conditions_of(corpus.name, corpus.sentences, encoder, cross, trained, corpus.notes)
        moment = Moment("")
        for moment in Experiment(encoder, cross, corpus.sentences, conditions, self._bench.device.hold).run(seconds, stop.is_set):
            moment = replace(moment, conditions=conditions)
            if moment.stage not in FINAL_STAGES:  # a final moment is sent below, with the quality if it can be measured
                yield moment
        if moment.result and corpus.labelled is not None and trained and not stop.is_set():
            yield replace(moment, stage="Measuring quality on your labelled pairs")
            quality = self._quality(corpus.labelled, encoder, cross)
            moment = replace(moment, result=replace(moment.result, quality=quality))
        yield moment

    def _quality(self, examples: Examples, encoder: "Encoder", cross: "CrossEncoder") -> Verdict | None:
        """Compare SBERT (before) with the cross-encoder (after) on some of the examples. None for pairs without scores."""
        if examples.kind == "positives":
            return None
        sample = examples.take(np.random.default_rng(0).permutation(len(examples))[:QUALITY_PAIRS])
        sbert, other = of_encoder(self._bench, encoder), of_cross_encoder(self._bench, cross)
        return judge(sample.kind, sbert.score(sample), other.score(sample), sample.gold)

    def _table_7(self, corpus: RaceCorpus, model: str, stop: Stop) -> Iterator[list[SystemSpeed]]:
        from sbert_app.timing.contestants import on_each_device

        finished: list[SystemSpeed] = []
        for encoder in on_each_device(self._bench.registry, model):
            rows: list[SystemSpeed] = []
            for rows in measure_systems(encoder.on(encoder.engine), corpus.sentences[:TABLE_SENTENCES], self._bench.device.hold):
                yield [*finished, *rows]
                if stop.is_set():
                    return
            finished += rows
