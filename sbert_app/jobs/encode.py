"""The job encode: embed sentences."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import option, output
from sbert_app.runtime.line import place_in_line
from sbert_app.step import Step

MOST_LISTED = 100  # the answer lists the embeddings of up to this many sentences
FILE = "embeddings.npy"


@dataclass(frozen=True)
class EncodeOptions:
    out: Path | None = option("Output file for the embeddings (.npy).", output(".npy", reason="the embeddings are a numpy array"))
    model: str = model_option()


def encode(call: Call, options: EncodeOptions) -> Steps:
    """Embed every sentence: (n, dim) float32 in file order, without blank rows.

    Returns:
        sentences (n), dim, seconds, sentences_per_second, dtype, device, precision, notes; embeddings (a list of lists) for up to
        100 sentences; and a file for numpy.load.
    """
    table, bench, done = call.required_table(), call.bench, 0
    corpus = read_corpus(table, call.columns or [guess_column(table.frame)], bench.settings.limits)
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
    path = call.write(options.out, FILE, lambda path: np.save(path, embeddings))
    summary: dict[str, Any] = {
        "sentences": len(corpus),
        "dim": encoder.dim,
        "seconds": seconds,
        "sentences_per_second": len(corpus) / seconds,
        "dtype": str(embeddings.dtype),
        "device": encoder.hardware.device.type,
        "precision": encoder.hardware.precision,
        "notes": list(corpus.notes),
    }
    if call.folder and len(corpus) <= MOST_LISTED:
        summary["embeddings"] = embeddings.tolist()
    line = f"{len(corpus):,} sentences in {seconds:.1f} s ({len(corpus) / seconds:,.0f}/s) -> {path}"
    yield Outcome(summary, [line], file=path)


ENCODE = Job("encode", Needs.SENTENCES, EncodeOptions, encode, "encode", makes_file=True)
