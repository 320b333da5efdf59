"""The race between the cross-encoder and SBERT: one at a time, the device shared batch by batch with everyone else."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import UserError
from sbert_app.labelled.examples import Examples
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.hardware import machine
from sbert_app.models.registry import DEFAULT_ENCODER, same_backbone
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.evaluation import EvaluationService
from sbert_app.services.labelled import Offer
from sbert_app.timing.experiment import ENDS, STOPPED, Experiment, Moment
from sbert_app.timing.result import Conditions, TimingResult
from sbert_app.timing.table7 import SystemSpeed, measure_systems

log = logging.getLogger(__name__)

Step = TypeVar("Step")

LEAST_SENTENCES = 20
DEFAULT_SECONDS = 8
TABLE_SENTENCES = 1_000
QUALITY_PAIRS = 500
MOST_SECONDS_ON_SCREEN = 120
EXAMPLE_NAME = f"{CALIBRATION_EXAMPLE}, the example"
TIMING = "timing"  # the name of the job


@dataclass(frozen=True)
class Course:
    """What is raced: different sentences under a name, with labelled pairs to measure quality on where there are some."""

    name: str
    sentences: list[str]
    labelled: Examples | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Waiting:
    """Not its turn yet: so many timing runs are served first."""

    before: int


class TimingService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench, evaluation: EvaluationService) -> None:
        self._bench, self._evaluation = workbench, evaluation
        self._limits = workbench.settings.limits

    def course(self, session_id: str = "") -> Course:
        """The session's corpus and labelled pairs; without a corpus the example tickets."""
        session = self._bench.sessions.get(session_id) if session_id else None
        indexed, offer = (session.get(IndexedCorpus), session.get(Offer)) if session else (None, None)
        labelled = self._labelled(offer) if offer else None
        if indexed:
            return self.prepare(indexed.corpus.name, indexed.corpus.sentences, labelled)
        return self.prepare(EXAMPLE_NAME, self._bench.examples.table(CALIBRATION_EXAMPLE).frame["text"].tolist(), labelled)

    def prepare(self, name: str, sentences: Sequence[str], labelled: Examples | None = None) -> Course:
        """Different sentences only, in a random order, no more than are raced. Raises UserError for too few."""
        different = list(dict.fromkeys(sentences))
        if len(different) < LEAST_SENTENCES:
            raise UserError(f"A race needs at least {LEAST_SENTENCES} different sentences, there are {len(different)}. Bring more.")
        chosen = np.random.default_rng(0).permutation(len(different))[: self._limits.raced_sentences]
        notes = [f"{len(sentences) - len(different):,} repeated sentences left out."] if len(different) < len(sentences) else []
        if len(chosen) < len(different):
            notes.append(f"{len(chosen):,} of {len(different):,} sentences, drawn at random.")
        return Course(name, [different[i] for i in chosen.tolist()], labelled, tuple(notes))

    def able(self, session_id: str) -> bool:
        """Whether the session's corpus has sentences enough to race with."""
        try:
            return bool(self.course(session_id))
        except UserError:
            return False

    @property
    def most_seconds(self) -> int:
        """The longest race that may be asked for on a page."""
        return min(MOST_SECONDS_ON_SCREEN, self._limits.race_seconds)

    def race_session(self, session_id: str, model: str, seconds: int) -> Iterator[Waiting | Moment]:
        """Race with the session's corpus; what it finds out stays in the session. Ends at once where another corpus is opened."""
        session, course = self._bench.sessions.get(session_id), self.course(session_id)
        stop = session.begin(TIMING)
        for step in self.race(course, model, seconds, stop):
            if stop.revoked or (isinstance(step, Moment) and step.result and not session.put(step.result, stop)):
                return
            yield step

    def table_7_session(self, session_id: str, model: str) -> Iterator[Waiting | list[SystemSpeed]]:
        """Table 7 with the session's corpus."""
        course = self.course(session_id)
        return self.table_7(course, model, self._bench.sessions.get(session_id).begin(TIMING))

    def result(self, session_id: str) -> TimingResult:
        """What the session's last race found out. Raises UserError before the first."""
        result = self._bench.sessions.get(session_id).get(TimingResult)
        if result is None:
            raise UserError("There is no race to speak of yet. Start one.")
        return result

    def stop(self, session_id: str) -> None:
        """End this session's timing after the batch that is running; what was measured stays."""
        self._bench.sessions.get(session_id).stop(TIMING)

    def race(
        self, course: Course, model: str = DEFAULT_ENCODER, seconds: int = DEFAULT_SECONDS, stop: Stop | None = None
    ) -> Iterator[Waiting | Moment]:
        """Race both lanes, the cross-encoder for so many seconds of work; then check. The last moment holds the result."""
        seconds = validation.whole_number(seconds, "number of seconds", 1, self._limits.race_seconds)
        return self._in_line(self._race(course, model, seconds, stop := stop or Stop()), Moment(STOPPED), stop)

    def table_7(
        self, course: Course, model: str = DEFAULT_ENCODER, stop: Stop | None = None
    ) -> Iterator[Waiting | list[SystemSpeed]]:
        """The paper's Table 7 on this machine: the rows, firmer with each round, on CPU too where the app runs on a GPU."""
        return self._in_line(self._table_7(course, model, stop := stop or Stop()), [], stop)

    def _labelled(self, offer: Offer) -> Examples | None:
        """The labelled pairs of the Fine-tune tab in the columns chosen there, repeated ones too; None where they are too few."""
        try:
            return self._evaluation.read(offer.table, offer.mapping).examples
        except UserError as error:
            log.info("labelled data not used: %s", error)
            return None

    def _in_line(self, work: Iterator[Step], stopped: Step, stop: Stop) -> Iterator[Waiting | Step]:
        """The steps of the work once it is its turn; `stopped` where it ends before that."""
        with self._bench.lines.timing.join(stop) as waiting:
            for before in waiting:
                yield Waiting(before)
            if stop.is_set():
                yield stopped
            else:
                yield from work

    def _race(self, course: Course, model: str, seconds: int, stop: Stop) -> Iterator[Moment]:
        yield Moment("Loading the models")
        encoder = self._bench.registry.encoder(model)
        cross, trained = self._bench.registry.cross_encoder_like(encoder)
        conditions = self._conditions(course, encoder, cross, trained)
        moment = Moment("")
        for moment in Experiment(encoder, cross, course.sentences, conditions, self._bench.device.hold).run(seconds, stop.is_set):
            if moment.stage not in ENDS:  # the last one may still learn about quality
                yield moment
        if moment.result and course.labelled is not None and trained and not stop.is_set():
            yield replace(moment, stage="Measuring quality on your labelled pairs")
            quality = self._evaluation.compare(course.labelled, encoder, cross, QUALITY_PAIRS)
            moment = replace(moment, result=replace(moment.result, quality=quality))
        yield moment

    def _conditions(self, course: Course, encoder: Encoder, cross: CrossEncoder, trained: bool) -> Conditions:
        return Conditions(
            corpus=course.name,
            sentences=len(course.sentences),
            encoder=encoder.name,
            cross_encoder=cross.name,
            head_trained=trained,
            same_backbone=same_backbone(encoder, cross),
            machine=machine(),
            hardware=str(encoder.hardware),
            max_tokens=(encoder.max_length, cross.max_length),
            date=date.today().isoformat(),
            notes=course.notes,
        )

    def _table_7(self, course: Course, model: str, stop: Stop) -> Iterator[list[SystemSpeed]]:
        finished: list[SystemSpeed] = []
        for encoder in self._bench.registry.on_each_device(model):
            rows: list[SystemSpeed] = []
            for rows in measure_systems(encoder, course.sentences[:TABLE_SENTENCES], self._bench.device.hold):
                yield [*finished, *rows]
                if stop.is_set():
                    return
            finished += rows
