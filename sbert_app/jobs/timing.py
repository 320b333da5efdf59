"""The job timing: race a cross-encoder against SBERT on this machine."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import flag, option, text, whole
from sbert_app.services.timing import DEFAULT_SECONDS, RaceCorpus, Waiting
from sbert_app.step import Step
from sbert_app.timing.experiment import Moment
from sbert_app.timing.measurements import SystemSpeed
from sbert_app.timing.report import models_of_race
from sbert_app.timing.result import MOST_SENTENCES, TimingResult
from sbert_app.timing.throughput import DISTURBED
from sbert_app.wording import digits, spoken


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
    corpus = _race_corpus(call)
    result = yield from _race(call, corpus, options)
    if result is None:
        return
    rows: list[SystemSpeed] = []
    if options.table_7:
        for step in call.services.timings.table_7(corpus, options.model, call.stop):
            rows = step if isinstance(step, list) else rows
            yield _step("Measuring the systems of Table 7", step)
    systems = [{"system": r.system, "device": r.device, "sentences_per_second": r.throughput.rate} for r in rows]
    speeds = [f"{r.system} ({r.device}): {digits(r.throughput.rate)} sentences/s" for r in rows]
    summary = result.summary(options.sentences) | ({"table_7": systems} if rows else {})
    yield Outcome(summary, [*_lines(result, options.sentences), *speeds])


def _race_corpus(call: Call) -> RaceCorpus:
    if call.table is None:
        return call.services.timings.race_corpus(call.session)
    columns = call.columns or [guess_column(call.table.frame)]
    corpus = read_corpus(call.table, columns, call.services.bench.settings.limits)
    return call.services.timings.prepare(corpus.name, corpus.sentences)


def _race(call: Call, corpus: RaceCorpus, options: TimingOptions) -> Generator[Step[Any], None, TimingResult | None]:
    result = None
    for step in call.services.timings.race(corpus, options.model, options.seconds, call.stop, options.cross_encoder):
        if isinstance(step, Moment):
            result = step.result or result
        yield _step("" if isinstance(step, Waiting) else step.stage, step)
    return result


def _step(stage: str, step: object) -> Step[Any]:
    if isinstance(step, Waiting):
        return Step(f"Waiting, {step.before} before", details={"stage": "Waiting", "before": step.before})
    return Step(stage, details={"stage": stage, "before": 0})


def _lines(result: TimingResult, sentences: int) -> list[str]:
    cross, sbert = result.cross_seconds(sentences), result.sbert_seconds(sentences)
    (low, high), (slow, fast) = result.cross.spread, result.encode.spread
    lines = [
        *([DISTURBED] if result.disturbed else []),
        *models_of_race(result.conditions),
        f"cross-encoder  {digits(result.cross.rate)} pairs/s (turns {digits(low)} to {digits(high)}), {result.conditions.hardware}",
        f"SBERT          {digits(result.encode.rate)} sentences/s (turns {digits(slow)} to {digits(fast)})",
        f"{sentences:,} sentences, extrapolated: {spoken(cross.seconds)} against {spoken(sbert.seconds)}",
    ]
    if agreement := result.agreement:
        same = "the same" if agreement.same_first else "not the same"
        top = f"{agreement.shared} of the closest {agreement.top} shared"
        spearman = f"Spearman {100 * agreement.spearman:.1f}"
        lines.append(f"agreement over {agreement.pairs:,} pairs: closest pair {same}, {top}, {spearman}")
    return lines


TIMING = Job("timing", Needs.EXAMPLE, TimingOptions, timing, "timing", streams=True)
