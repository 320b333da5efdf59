"""The command on speed: timing."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sbert_app.cli.common import Column, Json, Model, app, read_sentences, services, show
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.timing import DEFAULT_SECONDS, Course, TimingService, Waiting
from sbert_app.services.validation import whole_number
from sbert_app.timing.experiment import Moment
from sbert_app.timing.result import MOST_SENTENCES, TimingResult
from sbert_app.timing.table7 import SystemSpeed
from sbert_app.wording import spoken


@app.command()
def timing(
    file: Annotated[Path | None, typer.Argument(help="The sentences to race with. Default: the example tickets.")] = None,
    sentences: Annotated[int, typer.Option("--sentences", help="Extrapolate to so many sentences.")] = 10_000,
    seconds: Annotated[int, typer.Option("--seconds", help="Of work for the cross-encoder.")] = DEFAULT_SECONDS,
    column: Column = None,
    table_7: Annotated[bool, typer.Option("--table-7", help="Measure the systems of the paper's Table 7 too.")] = False,
    model: Model = DEFAULT_ENCODER,
    as_json: Json = False,
) -> None:
    """Race a cross-encoder against SBERT on this machine, and say what it means for N sentences."""
    sentences = whole_number(sentences, "number of sentences", 2, MOST_SENTENCES)
    studio = services()
    service = studio.timings
    if file:
        corpus = read_sentences(studio, file, column)
        course = service.prepare(corpus.name, corpus.sentences)
    else:
        course = service.course()
    result = _raced(service, course, model, seconds)
    rows: list[SystemSpeed] = []
    if table_7:
        for step in service.table_7(course, model):
            rows = step if isinstance(step, list) else rows
    systems = [{"system": r.system, "device": r.device, "sentences_per_second": r.throughput.rate} for r in rows]
    lines = [*_lines(result, sentences), *(f"{r.system} ({r.device}): {r.throughput.rate:,.0f} sentences/s" for r in rows)]
    show(result.summary(sentences) | ({"table_7": systems} if rows else {}), as_json, lines)


def _raced(service: TimingService, course: Course, model: str, seconds: int) -> TimingResult:
    result, stage = None, ""
    for step in service.race(course, model, seconds):
        if isinstance(step, Moment):
            result = step.result or result
        told = f"Waiting, {step.before} before" if isinstance(step, Waiting) else step.stage
        if told != stage:
            sys.stderr.write(f"{told} …\n")
            stage = told
    if result is None:  # only a stopped race ends without one, and nothing stops this one
        raise RuntimeError("the race ended without a result")
    return result


def _lines(result: TimingResult, sentences: int) -> list[str]:
    cross, sbert = result.cross_seconds(sentences), result.sbert_seconds(sentences)
    (low, high), (slow, fast) = result.cross.spread, result.encode.spread
    lines = [
        f"cross-encoder  {result.cross.rate:,.0f} pairs/s (turns {low:,.0f} to {high:,.0f}), {result.conditions.hardware}",
        f"SBERT          {result.encode.rate:,.0f} sentences/s (turns {slow:,.0f} to {fast:,.0f})",
        f"{sentences:,} sentences, extrapolated: {spoken(cross.seconds)} against {spoken(sbert.seconds)}",
    ]
    if agreed := result.agreement:
        same = "the same" if agreed.same_first else "not the same"
        lines.append(
            f"agreement over {agreed.pairs:,} pairs: closest pair {same}, {agreed.shared} of the closest {agreed.top} shared, "
            f"Spearman {100 * agreed.spearman:.1f}"
        )
    return lines
