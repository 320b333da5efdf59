"""Output of the shell: progress on stderr, results on stdout, map files."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN, colouring
from sbert_app.jobs.cluster_map import CLUSTER_MAP, MapOptions
from sbert_app.jobs.job import Job, Outcome, Step, outcome_of
from sbert_app.storage import writing_to
from sbert_app.tables.writing import csv_file
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.page import page

PROGRESS_SECONDS = 0.25


class ProgressLine:
    """Print each stage on its own line; on a terminal, rewrite one line for stages with a count."""

    def __init__(self) -> None:
        self._stages: set[str] = set()
        self._stage, self._start, self._shown = "", time.perf_counter(), 0.0

    def send(self, step: Step) -> None:
        if step.stage != self._stage:
            self._stage, self._start = step.stage, time.perf_counter()
        if step.stage not in self._stages and not (step.total and sys.stderr.isatty()):
            self._stages.add(step.stage)
            self.close()
            print_note(f"{step.stage} …" if step.total else step.stage)
        now = time.perf_counter()
        if step.total and sys.stderr.isatty() and now - self._shown > PROGRESS_SECONDS:
            self._shown = now
            rate = step.done / max(now - self._start, 1e-9)
            sys.stderr.write(f"\r\x1b[K{step.stage} {step.done:,} of {step.total:,}, {rate:,.0f}/s ")

    def close(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def print_note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def run_to_outcome(steps: Iterator[Step | Outcome]) -> Outcome:
    """Run a job to its outcome, showing its steps."""
    with closing(ProgressLine()) as progress:
        return outcome_of(steps, progress.send)


def show(job: Job, outcome: Outcome, as_json: bool) -> None:
    """Print the outcome on stdout; as JSON, a list becomes an object under the job's name."""
    summary = {job.name: outcome.summary} if isinstance(outcome.summary, list) else outcome.summary
    sys.stdout.write((json.dumps(summary, ensure_ascii=False) if as_json else "\n".join(outcome.lines)) + "\n")


def write_file(job: Job, outcome: Outcome, options: Any) -> None:
    """Write the job's output file, for jobs that leave that to the shell."""
    if job.name in WRITERS:
        WRITERS[job.name](outcome.value, options, options.out)


def _write_map(result: Any, options: MapOptions, out: Path) -> None:
    if out.suffix == ".csv":
        text = csv_file(result.records(np.arange(len(result.projection.points))))
    else:
        column = f"{COLUMN}{options.colour}" if options.colour else CLUSTERS
        text = page(result, map_figure(result, colouring(result, column), texts=True))
    with writing_to(out, "out"):
        out.write_text(text, encoding="utf-8")


WRITERS: dict[str, Callable[[Any, Any, Path], None]] = {CLUSTER_MAP.name: _write_map}
