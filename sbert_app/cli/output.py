"""What the shell writes: progress on stderr, results on stdout, the file of a map."""

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
from sbert_app.ui.map.chart import drawn
from sbert_app.ui.map.page import page

PROGRESS_SECONDS = 0.25


class Progress:
    """Each stage on a line of its own; where stderr is a terminal, one that is counted on a line that is rewritten."""

    def __init__(self) -> None:
        self._stages: set[str] = set()
        self._stage, self._start, self._shown = "", time.perf_counter(), 0.0

    def send(self, step: Step) -> None:
        if step.stage != self._stage:
            self._stage, self._start = step.stage, time.perf_counter()
        if step.stage not in self._stages and not (step.total and sys.stderr.isatty()):
            self._stages.add(step.stage)
            self.close()
            note(f"{step.stage} …" if step.total else step.stage)
        now = time.perf_counter()
        if step.total and sys.stderr.isatty() and now - self._shown > PROGRESS_SECONDS:
            self._shown = now
            rate = step.done / max(now - self._start, 1e-9)
            sys.stderr.write(f"\r\x1b[K{step.stage} {step.done:,} of {step.total:,}, {rate:,.0f}/s ")

    def close(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def watched(steps: Iterator[Step | Outcome]) -> Outcome:
    """The outcome of a job; the steps before it are shown."""
    with closing(Progress()) as progress:
        return outcome_of(steps, progress.send)


def show(job: Job, outcome: Outcome, as_json: bool) -> None:
    """The outcome on stdout. A list becomes an object under the job's name."""
    summary = {job.name: outcome.summary} if isinstance(outcome.summary, list) else outcome.summary
    sys.stdout.write((json.dumps(summary, ensure_ascii=False) if as_json else "\n".join(outcome.lines)) + "\n")


def finish(job: Job, outcome: Outcome, options: Any) -> None:
    """Write what only the shell writes of an outcome."""
    if job.name in WRITERS:
        WRITERS[job.name](outcome.value, options, options.out)


def _write_map(result: Any, options: MapOptions, out: Path) -> None:
    if out.suffix == ".csv":
        text = csv_file(result.records(np.arange(len(result.ground.points))))
    else:
        column = f"{COLUMN}{options.colour}" if options.colour else CLUSTERS
        text = page(result, drawn(result, colouring(result, column), texts=True))
    with writing_to(out, "out"):
        out.write_text(text, encoding="utf-8")


WRITERS: dict[str, Callable[[Any, Any, Path], None]] = {CLUSTER_MAP.name: _write_map}
