"""The jobs models and encode: which models there are, and the embeddings of sentences by one of them."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.text_column import guess_column
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import option, output
from sbert_app.models.files.listing import ModelInfo, listed
from sbert_app.models.files.trained_for import in_words
from sbert_app.runtime.line import place_in_line
from sbert_app.step import Step
from sbert_app.tables import skipped_summary

MOST_LISTED = 100  # the answer lists the embeddings of up to this many sentences


@dataclass(frozen=True)
class ModelsOptions:
    """No options."""


def models(call: Call, options: ModelsOptions) -> Steps:
    """List the models that other jobs accept by name.

    Returns:
        A list of objects: name, kind ("encoder", "cross-encoder" or "poly-encoder"), origin ("bundled", "hub",
        "untrained" or "saved"), dim, available, trained_for (of a cross-encoder or poly-encoder: "likeness", "answers", or "" if
        unknown), labels (outputs of a cross-encoder; only one with a single label scores pairs).
    """
    known = listed(call.bench.settings)  # without the registry, which imports torch
    yield Outcome([asdict(model) for model in known], [_line(model) for model in known])


def _line(model: ModelInfo) -> str:
    scorer = model.kind in ("cross-encoder", "poly-encoder")
    purpose = f", {in_words(model.trained_for)}" if scorer and model.origin != "untrained" else ""
    labels = f", {model.labels} labels" if model.labels not in (None, 1) else ""
    return f"{model.name}  {model.kind}, {model.origin}, {model.dim or '?'} dimensions{purpose}{labels}"


MODELS = Job("models", Needs.NOTHING, ModelsOptions, models, "models", quick=True)


@dataclass(frozen=True)
class EncodeOptions:
    out: Path | None = option("Output file for the embeddings (.npy).", output(".npy", reason="the embeddings are a numpy array"))
    model: str = model_option()


def encode(call: Call, options: EncodeOptions) -> Steps:
    """Embed every sentence: (n, dim) float32 in file order, without blank rows.

    Returns:
        sentences (n), columns (which they are from), skipped (row and reason, the first 100: they have no embedding), dim, seconds,
        sentences_per_second, dtype, device, precision, notes; embeddings (a list of lists, null for more than 100 sentences); and a
        file for numpy.load.
    """
    table, bench, done = call.required_table(), call.bench, 0
    columns = call.columns or [guess_column(table.frame)]
    corpus = read_corpus(table, columns, bench.settings.limits)
    encoder = bench.registry.encoder(options.model)
    embeddings = np.empty((len(corpus), encoder.dim), dtype=np.float32)
    with bench.lines.corpora.join(call.stop) as waiting:
        yield from (Step(place_in_line(before, "job")) for before in waiting)
        start = time.perf_counter()
        for rows, vectors in bench.device.stream(encoder, corpus.sentences, encoder.document_prompt):
            embeddings[rows] = vectors
            done += len(rows)
            yield Step("Encoding", done, len(corpus))
        seconds = time.perf_counter() - start
    path = call.write(options.out, "embeddings.npy", lambda path: np.save(path, embeddings))
    summary: dict[str, Any] = {
        "sentences": len(corpus),
        "columns": columns,
        "skipped": [asdict(skip) for skip in corpus.skipped[:MOST_LISTED]],
        "dim": encoder.dim,
        "seconds": seconds,
        "sentences_per_second": len(corpus) / seconds,
        "dtype": str(embeddings.dtype),
        "device": encoder.hardware.device.type,
        "precision": encoder.hardware.precision,
        "notes": [*skipped_summary(corpus.skipped), *corpus.notes],
    }
    if call.folder:
        summary["embeddings"] = embeddings.tolist() if len(corpus) <= MOST_LISTED else None
    line = f"{len(corpus):,} sentences from {', '.join(columns)} in {seconds:.1f} s ({len(corpus) / seconds:,.0f}/s) -> {path}"
    yield Outcome(summary, [line, *skipped_summary(corpus.skipped)], file=path)


ENCODE = Job("encode", Needs.SENTENCES, EncodeOptions, encode, "encode", makes_file=True)
