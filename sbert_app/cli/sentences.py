"""Commands on sentences: similarity, encode, search, models."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from sbert_app.cli.common import Column, File, Json, Model, Progress, app, index_file, read_sentences, services, show
from sbert_app.errors import UserError
from sbert_app.explain.calibration import in_words
from sbert_app.models.registry import DEFAULT_ENCODER


@app.command()
def similarity(
    sentence1: str,
    sentence2: str,
    model: Model = DEFAULT_ENCODER,
    cross_encoder: Annotated[str, typer.Option("--cross-encoder", help="Score the pair with this cross-encoder too.")] = "",
    as_json: Json = False,
) -> None:
    """Compare two sentences: cosine, and how unusual it is among random pairs."""
    service = services().similarity
    service.compare(sentence1, sentence2, model)  # the first call loads the model: time the second
    result = service.compare(sentence1, sentence2, model)
    rival = service.cross_encode(sentence1, sentence2, cross_encoder).score if cross_encoder else None
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
    show(summary, as_json, lines)


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
    studio = services()
    corpus = read_sentences(studio, file, column)
    encoder = studio.bench.registry.encoder(model)
    embeddings = np.empty((len(corpus), encoder.dim), dtype=np.float32)
    start, done = time.perf_counter(), 0
    progress = Progress("Encoding", len(corpus))
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
    show(summary, as_json, [f"{len(corpus):,} sentences in {seconds:.1f} s ({len(corpus) / seconds:,.0f}/s) -> {out}"])


@app.command()
def search(
    file: File,
    query: Annotated[str, typer.Option("--query", help="What to look for, in any words.")],
    column: Column = None,
    top: Annotated[int, typer.Option("--top", help="Number of hits.")] = 10,
    hybrid: Annotated[bool, typer.Option("--hybrid", help="Join the ranking with BM25.")] = False,
    rerank: Annotated[bool, typer.Option("--rerank", help="Let the cross-encoder order the best hits.")] = False,
    model: Model = DEFAULT_ENCODER,
    as_json: Json = False,
) -> None:
    """Index a file (from the cache, where it was indexed before) and search it."""
    studio = services()
    session_id, _ = index_file(studio, file, column, model)
    result = studio.search.search(session_id, query, top, hybrid=hybrid, rerank=rerank)
    hits = [asdict(hit) for hit in result.hits]
    lines = [f"{hit.score:.3f}  row {hit.row:<6} {hit.sentence}" for hit in result.hits]
    show({"hits": hits, "milliseconds": result.milliseconds}, as_json, lines)


@app.command()
def models(as_json: Json = False) -> None:
    """List the models that can be named."""
    rows = [asdict(model) for model in services().bench.registry.list()]
    lines = [f"{row['name']}  {row['kind']}, {row['origin']}, {row['dim'] or '?'} dimensions" for row in rows]
    show({"models": rows}, as_json, lines)
