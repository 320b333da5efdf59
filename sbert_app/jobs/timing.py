"""The job timing: race a cross-encoder against SBERT on this machine, one race at a time, and measure the paper's Table 7."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus, read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import judge
from sbert_app.grid.loading import of_cross_encoder, of_encoder
from sbert_app.grid.systems import System
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import flag, option, text, whole
from sbert_app.jobs.fine_tune.preparing import TrainingData
from sbert_app.labelled.example_set import digests
from sbert_app.labelled.examples import Examples, read_examples
from sbert_app.runtime import Session, Stop, Workbench
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.step import Result, Step
from sbert_app.timing.measurements import SystemSpeed, measure_systems
from sbert_app.timing.race import FINAL_STAGES, STOPPED, RaceCorpus, RaceState
from sbert_app.timing.report import in_lines
from sbert_app.timing.result import MOST_SENTENCES, TimingResult
from sbert_app.wording import digits

log = logging.getLogger(__name__)

DEFAULT_SECONDS = 8
TABLE_SENTENCES = 1_000
LEAST_PAIRS, QUALITY_PAIRS = 2, 500
EXAMPLE_NAME = f"{CALIBRATION_EXAMPLE}, the example"


@dataclass(frozen=True)
class TimingOptions:
    sentences: int = option("Extrapolate to this number of sentences.", whole("number of sentences", 2, MOST_SENTENCES), 10_000)
    seconds: int = option("Seconds of work for the cross-encoder.", whole("number of seconds", 1, "race_seconds"), DEFAULT_SECONDS)
    model: str = model_option()
    table_7: bool = option("Also measure the systems of the paper's Table 7.", flag("table 7"), False)
    cross_encoder: str = option(
        "The cross-encoder, of that kind in `models`, a Hub name or a folder; empty: one with the encoder's backbone.",
        text("cross-encoder"), "",
    )  # fmt: skip


def timing(call: Call, options: TimingOptions) -> Steps:
    """Race a cross-encoder against SBERT on this machine, and extrapolate to N sentences.

    Needs at least 20 different sentences; default: the example tickets. Closing an endpoint's call stops the race.

    Returns:
        While running: stage, and before, the number of timing runs ahead in the queue. At the end: sentences, pairs, cross-encoder
        and sbert (rate, slowest and fastest turn, extrapolated seconds with a 95 % band), measured, agreement, query, answer,
        conditions (of the cross-encoder also what it was trained for, and whether it has the encoder's backbone), disturbed
        (something else used the processor: race again), table_7.
    """
    if call.table is None:
        corpus = race_corpus(call.bench, call.session)
    else:
        columns = call.columns or [guess_column(call.table.frame)]
        corpus = _raced(call.bench, read_corpus(call.table, columns, call.bench.settings.limits))
    result: TimingResult | None = None
    for step in race(call.bench, corpus, options.model, options.seconds, call.stop, options.cross_encoder):
        result = step.result.timing if step.result and step.result.timing else result
        yield _sent(step)
    if result is None:
        return
    rows: list[SystemSpeed] = []
    if options.table_7:
        for measured in table_7(call.bench, corpus, options.model, call.stop):
            rows = measured.result or rows
            yield _sent(measured)
    systems = [{"system": r.system, "device": r.device, "sentences_per_second": r.throughput.rate} for r in rows]
    speeds = [f"{r.system} ({r.device}): {digits(r.throughput.rate)} sentences/s" for r in rows]
    summary = result.summary(options.sentences) | ({"table_7": systems} if rows else {})
    yield Outcome(summary, [*in_lines(result, options.sentences), *speeds])


def _sent(step: Step[Any]) -> Step[Any]:
    """The step as it is sent: its stage, and how many runs are before this one."""
    return Step(step.stage, details={"stage": step.stage, "before": 0} | step.details)


TIMING = Job("timing", Needs.EXAMPLE, TimingOptions, timing, "timing", streams=True)


def race_corpus(bench: Workbench, session: Session) -> RaceCorpus:
    """The session's corpus, or the example tickets if there is none."""
    if indexed := session.get(IndexedCorpus):
        return _raced(bench, indexed.corpus)
    table = bench.examples.table(CALIBRATION_EXAMPLE)
    return replace(_raced(bench, read_corpus(table, ["text"], bench.settings.limits)), name=EXAMPLE_NAME)


def _raced(bench: Workbench, corpus: Corpus) -> RaceCorpus:
    return RaceCorpus(corpus.name, corpus.sentences, corpus.distinct, bench.settings.limits.raced_sentences)


def labelled_pairs(bench: Workbench, session: Session) -> Examples | None:
    """The Fine-tune tab's examples in the columns chosen there, repeated ones included; None if unusable, such as too few."""
    if (data := session.get(TrainingData)) is None:
        return None
    try:
        return read_examples(data.table, data.mapping, bench.settings.limits, repeats=True, least=LEAST_PAIRS).examples
    except UserError as error:
        log.info("labelled data not used: %s", error)
        return None


def race_session(
    bench: Workbench, session: Session, model: str, seconds: int, cross_encoder: str = ""
) -> Iterator[Step[RaceState]]:
    """Race on the session's corpus; the session keeps the result. Ends early if another corpus is opened."""
    seconds = validation.whole_number(seconds, "number of seconds", 1, bench.settings.limits.race_seconds)
    corpus, labelled, stop = race_corpus(bench, session), labelled_pairs(bench, session), session.begin(TIMING.name)
    for step in race(bench, corpus, model, seconds, stop, cross_encoder, labelled):
        measured = step.result.timing if step.result else None
        if stop.revoked or (measured and not session.put(measured, stop)):
            return
        yield step


def race(
    bench: Workbench, corpus: RaceCorpus, model: str, seconds: int, stop: Stop, cross_encoder: str, labelled: Examples | None = None
) -> Iterator[Step[RaceState]]:
    """Race both systems, the cross-encoder working for `seconds`, then check the result, which the last step's state holds.

    cross_encoder: which; "": one with the encoder's backbone. labelled: examples to measure the quality of both on, which pairs
    that belong together do not show, nor those that either was trained on. Raises UserError for too few sentences and, while it
    loads, for a cross-encoder with several labels.
    """

    def work() -> Iterator[Step[RaceState]]:
        from sbert_app.timing.experiment import RaceRequest, cross_encoder_like

        yield Step("Loading the models")
        for step in bench.device.race(bench.registry, RaceRequest(corpus, model, cross_encoder, seconds), stop.is_set):
            state = step.result
            final = step.stage in FINAL_STAGES and state and state.timing and state.timing.conditions.head_trained
            if final and state and state.timing and labelled and labelled.kind != "positives" and not stop.is_set():
                yield replace(step, stage="Measuring quality on your labelled pairs")
                encoder = bench.registry.encoder(model)
                cross, _ = cross_encoder_like(bench.registry, encoder, cross_encoder)
                systems = of_encoder(bench, encoder), of_cross_encoder(bench, cross)
                if len(sample := _new_to(systems, labelled)) >= LEAST_PAIRS:
                    sbert, other = (system.score(sample) for system in systems)
                    quality = judge(sample.kind, sbert, other, sample.gold)
                    step = replace(step, result=replace(state, timing=replace(state.timing, quality=quality)))
            yield step

    return _in_line(bench, corpus, work(), stop)


def _new_to(systems: Sequence[System], labelled: Examples) -> Examples:
    """At most QUALITY_PAIRS examples drawn at random from those that no system was trained on."""
    known = np.isin(digests(labelled), np.concatenate([system.trained_on for system in systems]))
    return labelled.take(np.random.default_rng(0).permutation(np.flatnonzero(~known))[:QUALITY_PAIRS])


def table_7(bench: Workbench, corpus: RaceCorpus, model: str, stop: Stop) -> Iterator[Step[list[SystemSpeed]]]:
    """Measure the paper's Table 7 on the CPU, and on the GPU if the app uses one; yields the rows after each round."""

    def work() -> Iterator[Step[list[SystemSpeed]]]:
        from sbert_app.timing.experiment import on_each_device

        finished: list[SystemSpeed] = []
        for encoder in on_each_device(bench.registry, model):
            rows: list[SystemSpeed] = []
            for rows in measure_systems(encoder.on(encoder.engine), corpus.sentences[:TABLE_SENTENCES], bench.device.hold):
                yield Step("Measuring the systems of Table 7", result=[*finished, *rows])
                if stop.is_set():
                    return
            finished += rows

    return _in_line(bench, corpus, work(), stop)


def _in_line(bench: Workbench, corpus: RaceCorpus, work: Iterator[Step[Result]], stop: Stop) -> Iterator[Step[Result]]:
    """Wait in the queue, then yield the steps of the work; a last one if stopped while waiting."""
    if corpus.problem:
        raise UserError(corpus.problem)
    with bench.lines.timing.join(stop) as waiting:
        for before in waiting:
            yield Step(f"Waiting, {before} before", details={"stage": "Waiting", "before": before})
        if stop.is_set():
            yield Step(STOPPED, stopped=True)
            return
        try:
            yield from work
        finally:
            bench.registry.release()
