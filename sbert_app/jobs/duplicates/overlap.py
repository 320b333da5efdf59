"""Find which rows of another file already occur in the session's corpus."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.overlap import FileOverlap, Match, Overlap, find_overlap
from sbert_app.corpus.reader import Corpus, guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.jobs.duplicates.mining import checked_threshold
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.tables import Table
from sbert_app.vectors import unit_rows

OVERLAP = "overlap"  # job name


def compare_file(bench: Workbench, session: Session, table: Table) -> Iterator[Step[FileOverlap]]:
    """Embed another file's sentences with the corpus's model and look them up. Columns: as in the corpus, else guessed.

    The last step has the result, which stays in the session, or is `stopped`.
    """
    indexed = session.corpus()
    refuse_collection(session.get(OpenCollection), "A comparison with another file")
    columns = list(indexed.corpus.columns)
    if not set(columns) <= set(table.frame.columns):
        columns = [guess_column(table.frame)]
    other = read_corpus(table, columns, bench.settings.limits)
    stop = session.begin(OVERLAP)
    with bench.lines.corpora.join(stop) as waiting:
        for before in waiting:
            yield Step(place_in_line(before, "job"), 0, len(other))
        for step in _compared(bench, indexed, other):
            finished = step.result is not None and session.put(step.result, stop)
            if stop.is_set() and not finished:
                yield replace(step, stage="Stopped", stopped=True, result=None)
                return
            yield step


def _compared(bench: Workbench, indexed: IndexedCorpus, other: Corpus) -> Iterator[Step[FileOverlap]]:
    total = len(other)
    yield Step("Loading the model", 0, total)
    encoder = bench.registry.encoder_of(indexed.model, indexed.fingerprint)
    start = time.perf_counter()
    job = bench.embedder.job(encoder, other.sentences)
    with closing(job.run()) as batches:
        for done in batches:
            yield Step("Encoding", done, total)
    encoded = time.perf_counter()
    vectors = unit_rows(job.embeddings)
    steps = find_overlap(indexed.index, indexed.embeddings, indexed.corpus.sentences, vectors, other.sentences)
    for step in bench.device.each(steps):
        if isinstance(step, Overlap):
            seconds = {"encode": encoded - start, "compare": time.perf_counter() - encoded}
            yield Step("Compared", total, total, result=FileOverlap(indexed, other, step, seconds))
        else:
            yield Step("Comparing", step, total)


def matches_of(session: Session, threshold: float) -> tuple[FileOverlap, list[Match]]:
    """The last comparison and its matches at a threshold. Raises UserError if nothing was compared yet."""
    threshold = checked_threshold(threshold)
    compared = session.get(FileOverlap)
    if compared is None:
        raise UserError("There is no other file to compare with yet. Upload one.")
    return compared, compared.matches(threshold)
