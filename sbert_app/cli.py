"""The services from a shell: `python -m sbert_app COMMAND`. Results on stdout, progress on stderr."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sbert_app.corpus.reader import Corpus, guess_column, read_corpus, skipped_summary
from sbert_app.errors import UserError
from sbert_app.explain.calibration import in_words
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.corpora import CorpusService
from sbert_app.services.search import SearchService
from sbert_app.services.similarity import SimilarityService
from sbert_app.services.workbench import Workbench
from sbert_app.settings import settings_from_environment

PROGRESS_SECONDS = 0.25
UsageError: Any = typer.BadParameter.__base__  # typer exports the subclass only

app = typer.Typer(help=__doc__, add_completion=False, pretty_exceptions_enable=False)

Model = Annotated[str, typer.Option("--model", help="Encoder: bundled, saved, a Hub name, or a folder.")]
Column = Annotated[list[str] | None, typer.Option("--column", help="Sentence column; repeat to join several. Default: guessed.")]
Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object.")]
File = Annotated[Path, typer.Argument(help="csv, tsv, jsonl, json, parquet, xlsx or txt; text formats also as .gz.")]


def main() -> int:
    """Run the command line. A user's mistake is one line on stderr and exit status 2, never a traceback."""
    try:
        app(standalone_mode=False)
    except (UserError, UsageError) as error:
        message = str(error) if isinstance(error, UserError) else f"{error.format_message() or 'No command given.'} Try --help."
        sys.stderr.write(f"Error: {message}\n")
        return 2
    except typer.Abort:
        return 130
    return 0


@app.command()
def similarity(
    sentence1: str,
    sentence2: str,
    model: Model = DEFAULT_ENCODER,
    cross_encoder: Annotated[str, typer.Option("--cross-encoder", help="Score the pair with this cross-encoder too.")] = "",
    as_json: Json = False,
) -> None:
    """Compare two sentences: cosine, and how unusual it is among random pairs."""
    bench = _workbench()
    service = SimilarityService(bench)
    service.compare(sentence1, sentence2, model)  # the first call loads the model: time the second
    result = service.compare(sentence1, sentence2, model)
    rival = float(bench.registry.cross_encoder(cross_encoder).score([(sentence1, sentence2)])[0]) if cross_encoder else None
    summary = {
        "score": result.score,
        "percentile": result.percentile,
        "cross_encoder_score": rival,
        "milliseconds": result.milliseconds,
    }
    lines = [f"{result.score:.4f}  cosine similarity, {model}"]
    if result.percentile is not None:
        lines.append(in_words(result.percentile, result.calibrated_on))
    if rival is not None:
        lines.append(f"{rival:.4f}  cross-encoder {cross_encoder}")
    _show(summary, as_json, lines)


@app.command()
def encode(
    file: File,
    out: Annotated[Path, typer.Option("--out", help="Where to write the embeddings, a .npy file.")],
    column: Column = None,
    model: Model = DEFAULT_ENCODER,
    as_json: Json = False,
) -> None:
    """Embed every sentence of a file: (n, dim) float32 in file order."""
    if out.suffix != ".npy":
        raise UserError(f"'{out}' must end in .npy: the embeddings are written as a numpy array.")
    bench = _workbench()
    corpus = _corpus(bench, file, column)
    encoder = bench.registry.encoder(model)
    embeddings = np.empty((len(corpus), encoder.dim), dtype=np.float32)
    start, done = time.perf_counter(), 0
    progress = _Progress("Encoding", len(corpus))
    for rows, vectors in encoder.stream(corpus.sentences, encoder.prompt("document", "passage", "corpus")):
        embeddings[rows] = vectors
        done += len(rows)
        progress.send(done)
    seconds = time.perf_counter() - start
    progress.close()
    try:
        with out.open("wb") as stream:
            np.save(stream, embeddings)
    except OSError as error:
        raise UserError(f"Cannot write '{out}': {error.strerror}. Choose another --out.") from error
    summary = {
        "sentences": len(corpus),
        "dim": encoder.dim,
        "seconds": seconds,
        "sentences_per_second": len(corpus) / seconds,
        "dtype": str(embeddings.dtype),
        "device": encoder.hardware.device.type,
        "precision": encoder.hardware.precision,
    }
    _show(summary, as_json, [f"{len(corpus):,} sentences in {seconds:.1f} s ({len(corpus) / seconds:,.0f}/s) -> {out}"])


@app.command()
def search(
    file: File,
    query: Annotated[str, typer.Option("--query", help="What to look for, in any words.")],
    column: Column = None,
    top: Annotated[int, typer.Option("--top", help="Number of hits.")] = 10,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="Join the ranking with BM25.")] = False,
    model: Model = DEFAULT_ENCODER,
    as_json: Json = False,
) -> None:
    """Index a file (from the cache, where it was indexed before) and search it."""
    bench = _workbench()
    corpora, service = CorpusService(bench), SearchService(bench)
    session = bench.sessions.open()
    guess = corpora.offer(session.id, corpora.read_file(_existing(file)))
    progress = None
    for event in corpora.index(session.id, column or [guess], model):
        progress = progress or _Progress("Indexing", event.total)
        progress.send(event.done)
        if event.corpus:
            _remark(event.corpus.corpus)
    if progress:
        progress.close()
    result = service.search(session.id, query, top, hybrid=hybrid)
    hits = [asdict(hit) for hit in result.hits]
    lines = [f"{hit.score:.3f}  row {hit.row:<6} {hit.sentence}" for hit in result.hits]
    _show({"hits": hits, "milliseconds": result.milliseconds}, as_json, lines)


@app.command()
def models(as_json: Json = False) -> None:
    """List the models that can be named."""
    rows = [asdict(model) for model in _workbench().registry.list()]
    lines = [f"{row['name']}  {row['kind']}, {row['origin']}, {row['dim'] or '?'} dimensions" for row in rows]
    _show({"models": rows}, as_json, lines)


def _workbench() -> Workbench:
    return Workbench(settings_from_environment())


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise UserError(f"There is no file '{file}'. Check the path.")
    return file


def _corpus(bench: Workbench, file: Path, column: list[str] | None) -> Corpus:
    table = CorpusService(bench).read_file(_existing(file))
    corpus = read_corpus(table, column or [guess_column(table.frame)], bench.settings.limits)
    _remark(corpus)
    return corpus


def _remark(corpus: Corpus) -> None:
    for line in (f"Sentences from column '{', '.join(corpus.columns)}'.", *corpus.notes, *skipped_summary(corpus.skipped)):
        sys.stderr.write(line + "\n")


class _Progress:
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


def _show(summary: Mapping[str, Any], as_json: bool, lines: list[str]) -> None:
    sys.stdout.write((json.dumps(summary, ensure_ascii=False) if as_json else "\n".join(lines)) + "\n")
