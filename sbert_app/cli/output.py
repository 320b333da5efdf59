"""Output of the shell: progress on stderr, results on stdout, map files."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN, colouring
from sbert_app.jobs.cluster_map import CLUSTER_MAP, MapOptions
from sbert_app.jobs.declaring.job import Job, Outcome, Step, outcome_of
from sbert_app.storage import writing_to
from sbert_app.tables.writing import csv_file
from sbert_app.ui.map.chart import map_figure
from sbert_app.ui.map.view import page


class StageProgress:
    """Print each stage on its own line; on a terminal, a stage with a count gets a bar with the time left."""

    def __init__(self) -> None:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        self._bars = Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self._tasks: dict[str, TaskID] = {}
        self._bars.start()

    def send(self, step: Step) -> None:
        if step.stage not in self._tasks:
            if self._bars.disable or not step.total:
                print_note(f"{step.stage} …" if step.total else step.stage)
            self._tasks[step.stage] = self._bars.add_task(step.stage, visible=step.total > 0)
        self._bars.update(self._tasks[step.stage], completed=step.done, total=step.total)

    def close(self) -> None:
        self._bars.stop()


def print_note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def run_to_outcome(steps: Iterator[Step | Outcome]) -> Outcome:
    """Run a job to its outcome, showing its steps."""
    with closing(StageProgress()) as progress:
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
