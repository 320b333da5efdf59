"""Generate the shell commands from the declared jobs: progress on stderr, results on stdout, map files."""

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.jobs.corpus.job import INDEX_CORPUS, TO_MEND, IndexOptions
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, outcome_of
from sbert_app.jobs.declaring.option import Argument, arguments, read
from sbert_app.jobs.map.job import CLUSTER_MAP, MapOptions
from sbert_app.jobs.open_collection import OPEN_COLLECTION
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.storage import writing_to
from sbert_app.tables import csv_file, read_table

FORMATS = "csv, tsv, jsonl, json, parquet, xlsx or txt; text formats also as .gz."


def parameter(name: str, kind: Any, declared: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """A parameter of a command as typer reads it. declared: its typer.Argument or typer.Option."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declared])


def named(name: str, kind: Any, about: str, default: Any, flag: str = "") -> inspect.Parameter:
    """An option of a command. flag: its name in the shell, if different."""
    return parameter(name, kind, typer.Option(flag or f"--{name.replace('_', '-')}", help=about), default)


FILE = parameter("file", Path, typer.Argument(help=FORMATS))
COLUMN = named("column", list[str] | None, "Text column; repeat to join several. Default: guessed.", None)
JSON = named("json", bool, "Print exactly one JSON object.", False)
SUBJECTS: dict[Needs, list[inspect.Parameter]] = {
    Needs.NOTHING: [],
    Needs.CORPUS: [
        parameter("file", Path | None, typer.Argument(help=f"{FORMATS} Or none, with --store."), None),
        COLUMN,
        named("indexed_with", str, "The encoder: bundled, saved, a Hub name, or a folder.", DEFAULT_ENCODER, "--model"),
        named("mends", str, TO_MEND, "", "--mend"),
        named("store", str | None, "Instead of a file, a collection: a folder, FILE.db/NAME or http://host:port/NAME.", None),
    ],
    Needs.SENTENCES: [FILE, COLUMN],
    Needs.EXAMPLE: [parameter("file", Path | None, typer.Argument(help=f"{FORMATS} Default: the example tickets."), None), COLUMN],
    **{needs: [FILE] for needs in (Needs.PAIRS, Needs.LABELLED, Needs.CLASSES)},
    Needs.DATA_SET: [parameter("file", Path | None, typer.Argument(help=f"{FORMATS} Or none, with --data."), None)],
}


def add_command(job: Job, app: typer.Typer) -> None:
    """Add a job's command to the typer app."""
    needed = SUBJECTS[job.needs] if job.collections else [FILE, *SUBJECTS[Needs.CORPUS][1:-1]]  # without --store
    parameters = [*needed, *(_option(job, argument) for argument in arguments(job.options) if argument.shell), JSON]

    def command(**values: Any) -> None:
        subject = {each.name: values.pop(each.name) for each in needed}
        as_json = values.pop("json")
        bench = Workbench(settings_from_environment(), tell=print_note)
        try:
            _check_paths(arguments(job.options), values, subject.get("file"))
            checked = read(job.options, values, bench.settings.limits)
            outcome = _run(job, bench, checked, subject)
            if job is CLUSTER_MAP:  # leaves its file to the shell
                _write_map(outcome.value, checked, checked.out)
            show(job, outcome, as_json)
            bench.convert_afterwards()
        finally:
            bench.stop_converting()
        if outcome.failed:
            raise typer.Exit(1)

    command.__doc__ = job.summary
    register(app, job.command, command, parameters)


def _check_paths(declared: Sequence[Argument], values: Mapping[str, Any], file: Path | None) -> None:
    """Raise UserError where a command would write over a file that it reads."""
    sources = [file, *(values.get(argument.name) for argument in declared if argument.kind.upload)]
    for argument in declared:
        out = values.get(argument.name) if argument.kind.output else None
        if out and any(source and source.exists() and out.exists() and out.samefile(source) for source in sources):
            raise UserError(f"'{out}' is read by this command. Choose another {argument.shell_name}.")


def register(app: typer.Typer, name: str, command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Add a function that takes these parameters as keywords to the typer app."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {taken.name: taken.annotation for taken in parameters}
    app.command(name)(command)


def _option(job: Job, argument: Argument) -> inspect.Parameter:
    """A typer option, or an argument for a required option of a job without a file. Lists and objects are entered as text."""
    kind = argument.kind.type if argument.kind.type in (str, int, float, bool, Path) else str
    if argument.required and job.needs is Needs.NOTHING:
        return parameter(argument.name, kind, typer.Argument(help=argument.about))
    name = argument.shell_name
    if kind is bool and argument.default:
        name = f"{name}/--no-{name[2:]}"
    if argument.required:
        return parameter(argument.name, kind, typer.Option(name, help=argument.about))
    default = ",".join(argument.default) if isinstance(argument.default, list) else argument.default
    return named(argument.name, kind if default is not None else kind | None, argument.about, default, name)


def _run(job: Job, bench: Workbench, options: Any, subject: Mapping[str, Any]) -> Outcome:
    """Read and, if needed, index the file or open the collection, then run the job. subject: by the names in SUBJECTS."""
    file, store = subject.get("file"), subject.get("store")
    if job.needs is Needs.CORPUS and (file is None) == (store is None):
        raise UserError("Name a file or, with --store, a collection: one of the two.")
    if store is not None and (subject["column"] or subject["mends"] or subject["indexed_with"] != DEFAULT_ENCODER):
        raise UserError("A collection has its own text and model: leave out --column, --mend and --model.")
    call = Call(bench, columns=subject.get("column") or [])
    if file is not None:
        if not file.is_file():
            piped = str(file) == "-" or (file.exists() and not file.is_dir())
            way_out = "Pipes are not read: write what they send to a file first." if piped else "Check the path."
            raise UserError(f"There is no file '{file}'. {way_out}")
        call = replace(call, table=read_table(file, bench.settings.limits))
    if job.needs is not Needs.CORPUS:
        return run_to_outcome(job.steps(call, options))
    start = time.perf_counter()
    if store is None:
        chosen = {"model": subject["indexed_with"], "mends": subject["mends"], "whole": getattr(options, "reads_all", True)}
        before, asked = INDEX_CORPUS, read(IndexOptions, chosen, bench.settings.limits)
    else:
        before, asked = OPEN_COLLECTION, OPEN_COLLECTION.options(store)
    indexed = run_to_outcome(before.steps(call, asked))
    for line in indexed.lines:
        print_note(line)
    seconds = {"index" if store is None else "open": time.perf_counter() - start}
    outcome = run_to_outcome(job.steps(replace(call, session=bench.sessions.get(indexed.summary["corpus"])), options))
    if "seconds" not in outcome.summary:
        return outcome
    return replace(outcome, summary=outcome.summary | {"seconds": seconds | outcome.summary["seconds"]})


def print_note(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def run_to_outcome(steps: Steps) -> Outcome:
    """Run a job to its outcome. Each stage is printed on a line; on a terminal, one with a count gets a bar with the time left."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:

        def show_step(step: Step[Any]) -> None:
            if step.stage not in tasks:
                if bars.disable or not step.total:
                    print_note(f"{step.stage} …" if step.total else step.stage)
                tasks[step.stage] = bars.add_task(step.stage, visible=step.total > 0)
            bars.update(tasks[step.stage], completed=step.done, total=step.total)

        return outcome_of(steps, show_step)


def show(job: Job, outcome: Outcome, as_json: bool) -> None:
    """Print the outcome on stdout; as JSON, a list becomes an object under the job's name, and what is no number null."""
    summary = {job.name: outcome.summary} if isinstance(outcome.summary, list) else outcome.summary
    text = orjson.dumps(summary, option=orjson.OPT_NON_STR_KEYS).decode() if as_json else "\n".join(outcome.lines)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _write_map(result: Any, options: MapOptions, out: Path) -> None:
    from sbert_app.corpus_map import colouring  # the other commands import nothing of a page
    from sbert_app.ui.map.chart import map_figure
    from sbert_app.ui.map.view import page

    if out.suffix == ".csv":
        form = result.projection.indexed.corpus.form
        text = csv_file(result.records(np.arange(len(result.projection.points))), form.delimiter)
    else:
        column = f"{colouring.COLUMN}{options.colour}" if options.colour else colouring.CLUSTERS
        text = page(result, map_figure(result, column, texts=True))
    with writing_to(out, "out"):
        out.write_text(text, encoding="utf-8", newline="")
