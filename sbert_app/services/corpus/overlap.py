"""Find which rows of another file already occur in the session's corpus."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.overlap import FileOverlap, Match, Overlap, find_overlap
from sbert_app.corpus.reader import Corpus, guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services.corpus.duplicates import checked_threshold
from sbert_app.tables import Table
from sbert_app.vectors import unit_rows

OVERLAP = "overlap"  # job name


@dataclass(frozen=True)
class OverlapProgress:
    """Progress of the comparison. The last event holds the result or is `stopped`."""

    stage: str
    done: int
    total: int
    stopped: bool = False
    compared: FileOverlap | None = None


class OverlapService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def compare(self, session: Session, table: Table) -> Iterator[OverlapProgress]:
        """Embed another file's sentences with the corpus's model and look them up. Columns: as in the corpus, else guessed."""
        indexed = session.corpus()
        refuse_collection(session.get(OpenCollection), "A comparison with another file")
        other = self._read(table, indexed)
        stop = session.begin(OVERLAP)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield OverlapProgress(place_in_line(before, "job"), 0, len(other))
            for step in self._compare(indexed, other):
                finished = step.compared is not None and session.put(step.compared, stop)
                if stop.is_set() and not finished:
                    yield replace(step, stage="Stopped", stopped=True, compared=None)
                    return
                yield step

    def _compare(self, indexed: IndexedCorpus, other: Corpus) -> Iterator[OverlapProgress]:
        yield OverlapProgress("Loading the model", 0, len(other))
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        start = time.perf_counter()
        job = self._bench.embedder.job(encoder, other.sentences)
        with closing(job.run()) as batches:
            for done in batches:
                yield OverlapProgress("Encoding", done, len(other))
        encoded = time.perf_counter()
        vectors = unit_rows(job.embeddings)
        steps = find_overlap(indexed.index, indexed.embeddings, indexed.corpus.sentences, vectors, other.sentences)
        for step in self._bench.device.each(steps):
            if isinstance(step, Overlap):
                seconds = {"encode": encoded - start, "compare": time.perf_counter() - encoded}
                yield OverlapProgress("Compared", len(other), len(other), compared=FileOverlap(indexed, other, step, seconds))
            else:
                yield OverlapProgress("Comparing", step, len(other))

    def stop(self, session: Session) -> None:
        """Stop this session's comparison after the current batch."""
        session.stop(OVERLAP)

    def matches(self, session: Session, threshold: float) -> tuple[FileOverlap, list[Match]]:
        """The last comparison and its matches at a threshold. Raises UserError if nothing was compared yet."""
        threshold = checked_threshold(threshold)
        compared = session.get(FileOverlap)
        if compared is None:
            raise UserError("There is no other file to compare with yet. Upload one.")
        return compared, compared.matches(threshold)

    def _read(self, table: Table, indexed: IndexedCorpus) -> Corpus:
        columns = list(indexed.corpus.columns)
        if not set(columns) <= set(table.frame.columns):
            columns = [guess_column(table.frame)]
        return read_corpus(table, columns, self._bench.settings.limits)
