"""The command line: `python -m sbert_app COMMAND`, each declared job and `index`. Results on stdout, progress on stderr."""

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sbert_app import __version__
from sbert_app.cli.command import COLUMN, JSON, add_command, named, parameter, print_note, register
from sbert_app.environment import settings_from_environment
from sbert_app.errors import UserError
from sbert_app.jobs import JOBS
from sbert_app.wording import amount, duration

if TYPE_CHECKING:  # the other commands start faster without it
    from sbert_app.bulk.request import Summary

UsageError: Any = typer.BadParameter.__base__  # typer exports the subclass only
TOKEN = "SBERT_STUDIO_STORE_TOKEN"  # noqa: S105 - the name of a variable
LINE_SECONDS = 10.0  # between two lines of progress; a stage begins with one
MOST_LISTED = 10
FILES = "Files, folders, patterns: parquet, csv, tsv, jsonl, txt; text also as .gz."
STORE = "The collection: a folder, FILE.db/NAME, or http://host:19530/NAME of a Milvus server. The token of a server is read from "
ENGINE = (
    "ray: encode on all cores of this machine, or of a cluster. Default: in this process. A cluster needs the files' work folder, "
    "the app and the model at the same paths on every machine."
)
INDEX = "auto, exact, ivf, hnsw or, in a folder, scann. auto: exact up to 100,000 rows, then scann, in Milvus ivf."

PARAMETERS = [
    parameter("files", list[str], typer.Argument(help=FILES)),
    named("store", str, f"{STORE}{TOKEN}.", ""),
    named("out", Path | None, "Instead: a folder for Parquet files of float16 embeddings.", None),
    COLUMN,
    named("model", str, "The encoder. Default: the collection's own, else the bundled one.", ""),
    named("index", str, INDEX, "auto"),
    named("engine", str, ENGINE, ""),
    named("workers", int, "With --engine: models at work. Default: one per 2 cores, or GPU.", 0),
    named("address", str, "With --engine: of a running cluster; auto: this machine's.", ""),
    named("shard_rows", int, "Rows encoded and kept at a time: what a kill can cost.", 20_000),
    named("shard", str, "I/N: encode the I-th of N parts, store nothing; then run without.", ""),
    named("work", Path | None, "Folder of the finished shards. Default: in the data home.", None),
    JSON,
]


def index(**values: Any) -> None:
    """Encode the sentences of many files and write them to a collection, however many rows there are.

    Killed at any moment, the same command goes on where it was, and encodes no finished shard again. A file is known by its path:
    run again, only what has changed is written. The exit status is 1 if some file or shard could not be indexed.
    """
    from sbert_app.bulk.indexing import run
    from sbert_app.bulk.request import Request, read_part

    as_json, part, columns = values.pop("json"), read_part(values.pop("shard")), tuple(values.pop("column") or ())
    request = Request(**{**values, "files": tuple(values["files"])}, columns=columns, part=part, token=os.environ.get(TOKEN, ""))
    stage, last = "", 0.0
    for step in run(request, settings_from_environment()):
        now = time.monotonic()
        if summary := step.result:
            text = json.dumps(summary.to_json(), ensure_ascii=False) if as_json else "\n".join(in_words(summary))
            sys.stdout.write(f"{text}\n")
            if summary.failures:
                raise typer.Exit(1)
        elif step.stage != stage or now - last > LINE_SECONDS:
            stage, last = step.stage, now
            rows = f": {step.done:,} of about {step.total:,} rows" if step.total else ""
            rate = f", {step.rate:,.0f} a second" if step.rate else ""
            left = f", {step.left}" if step.left else ""
            print_note(f"{stage}{rows}{rate}{left}")


def in_words(summary: "Summary") -> list[str]:
    """What a run has done, line by line."""
    lines = [
        f"{summary.rows:,} rows of {amount(summary.files, 'file')}: {summary.encoded:,} encoded now, {summary.reused:,} before, "
        f"{summary.written:,} written, in {duration(summary.seconds)}"
    ]
    if summary.index:
        recall = f", recall@10 {summary.recall:.3f} on {summary.recall_queries} rows" if summary.recall_queries else ""
        others = f", {others:,} of them of other files" if (others := summary.collection_rows - summary.rows) > 0 else ""
        lines.append(f"{summary.target}: {summary.collection_rows:,} rows{others}, index {summary.index}{recall}")
    elif summary.target:
        lines.append(f"Parquet files in {summary.target}")
    lines += [f"Left out: {amount(count, 'row')}, {reason}" for reason, count in summary.left_out.items()]
    lines += [f"  {example}" for example in summary.examples]
    if passed := summary.passed_over:
        lines.append(f"Passed over, of other formats: {amount(len(passed), 'file')}, such as {passed[0]}")
    lines += [f"Ignored column '{column}', as in {file}" for column, file in list(summary.ignored_columns.items())[:MOST_LISTED]]
    failures = [f"Not indexed: {name}: {reason}" for name, reason in list(summary.failures.items())[:MOST_LISTED]]
    more = len(summary.failures) - len(failures)
    return [*lines, *failures, *([f"… and {more:,} more, see --json"] if more else [])]


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
for job in JOBS:
    if job.command:
        add_command(job, app)
register(app, "index", index, PARAMETERS)


def show_version(asked: bool) -> None:
    """Print the version, and end, if it is asked for."""
    if asked:
        sys.stdout.write(f"{__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=show_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Use sentence embeddings from the shell: results on stdout, progress on stderr."""


def main() -> int:
    """Run the command line; the exit status. A user's mistake prints one line on stderr and returns 2, without a traceback."""
    try:
        status = app(standalone_mode=False)
    except (UserError, UsageError) as error:
        message = str(error) if isinstance(error, UserError) else f"{error.format_message() or 'No command given.'} Try --help."
        sys.stderr.write(f"Error: {message}\n")
        return 2
    except typer.Abort:
        return 130
    return status if isinstance(status, int) else 0  # of typer.Exit
