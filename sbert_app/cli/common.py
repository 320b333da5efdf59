"""What all commands share: options, progress on stderr, results on stdout."""

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sbert_app.corpus.reader import Corpus, guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.runtime.workbench import open_workbench
from sbert_app.services.bundle import Services, services_over
from sbert_app.settings import settings_from_environment
from sbert_app.tables.table import skipped_summary

PROGRESS_SECONDS = 0.25

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

Model = Annotated[str, typer.Option("--model", help="Encoder: bundled, saved, a Hub name, or a folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
File = Annotated[Path, typer.Argument(help="csv, tsv, jsonl, json, parquet, xlsx or txt; text formats also as .gz.")]
Column = Annotated[list[str] | None, typer.Option("--column", help="Sentence column; repeat to join several. Default: guessed.")]


def services() -> Services:
    """All services, over a workbench as the environment sets it."""
    return services_over(open_workbench(settings_from_environment()))


def existing(file: Path) -> Path:
    if not file.is_file():
        raise UserError(f"There is no file '{file}'. Check the path.")
    return file


class Progress:
    """A line on stderr, rewritten a few times a second; silent where stderr is no terminal."""

    def __init__(self, verb: str, total: int) -> None:
        self._verb, self._total = verb, total
        self._start = self._shown = time.perf_counter()

    def send(self, done: int) -> None:
        now = time.perf_counter()
        if sys.stderr.isatty() and now - self._shown > PROGRESS_SECONDS:
            self._shown = now
            rate = done / (now - self._start)
            sys.stderr.write(f"\r{self._verb} {done:,} of {self._total:,}, {rate:,.0f}/s   ")

    def close(self) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def show(summary: Mapping[str, Any], as_json: bool, lines: list[str]) -> None:
    sys.stdout.write((json.dumps(summary, ensure_ascii=False) if as_json else "\n".join(lines)) + "\n")


def read_sentences(services: Services, file: Path, column: list[str] | None) -> Corpus:
    """The sentences of a file, with a remark on what was skipped."""
    table = services.corpora.read_file(existing(file))
    corpus = read_corpus(table, column or [guess_column(table.frame)], services.bench.settings.limits)
    remark(corpus)
    return corpus


def index_file(services: Services, file: Path, column: list[str] | None, model: str) -> tuple[str, float]:
    """Index a file in a session of its own, from the cache where it was indexed before: the session's id, and the seconds."""
    start = time.perf_counter()
    corpora, session = services.corpora, services.bench.sessions.open()
    guess = corpora.offer(session.id, corpora.read_file(existing(file)))
    progress = None
    for event in corpora.index(session.id, column or [guess], model):
        progress = progress or Progress("Indexing", event.total)
        progress.send(event.done)
        if event.corpus:
            progress.close()
            remark(event.corpus.corpus)
    return session.id, time.perf_counter() - start


def remark(corpus: Corpus) -> None:
    """What was read and what was skipped, on stderr."""
    for line in (f"Sentences from column '{', '.join(corpus.columns)}'.", *corpus.notes, *skipped_summary(corpus.skipped)):
        sys.stderr.write(line + "\n")
