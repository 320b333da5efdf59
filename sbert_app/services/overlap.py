"""Compare another file with the session's corpus: which of its rows stand there already?"""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sbert_app.corpus.findings import Compared, Match
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.overlap import Overlap, find_overlap
from sbert_app.corpus.reader import Corpus, guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.services.corpora import CorpusService
from sbert_app.services.duplicates import checked_threshold
from sbert_app.runtime.embedding import EmbeddingJob
from sbert_app.runtime.workbench import Workbench
from sbert_app.tables import Table
from sbert_app.vectors import unit_rows


@dataclass(frozen=True)
class OverlapProgress:
    """How far the comparison is. The last one holds the result, or says that it was stopped."""

    stage: str
    done: int
    total: int
    stopped: bool = False
    compared: Compared | None = None


class OverlapService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._corpora = CorpusService(workbench)

    def compare(self, session_id: str, path: Path) -> Iterator[OverlapProgress]:
        """Embed the sentences of a file with the corpus's own model and look each up in the corpus.

        Its column is named as in the corpus, else it is guessed.
        """
        indexed = self._bench.corpus_of(session_id)
        session = self._bench.sessions.get(session_id)
        session.stop_overlap.clear()
        other = self._read(self._corpora.read_file(path), indexed)
        yield OverlapProgress("Loading the model", 0, len(other))
        encoder = self._bench.encoder_of(indexed)
        start = time.perf_counter()
        job = EmbeddingJob(self._bench, encoder, other.sentences)
        with closing(job.run()) as batches:
            for done in batches:
                if session.stop_overlap.is_set() and done < len(other):
                    yield OverlapProgress("Stopped", done, len(other), stopped=True)
                    return
                yield OverlapProgress("Encoding", done, len(other))
        encoded = time.perf_counter()
        there, here = indexed.corpus.sentences, unit_rows(job.embeddings)
        steps = find_overlap(indexed.index, indexed.embeddings, there, here, other.sentences)
        while True:
            with self._bench.device():  # others are served between two steps
                step = next(steps)
            if isinstance(step, Overlap):
                break
            if session.stop_overlap.is_set():
                yield OverlapProgress("Stopped", step, len(other), stopped=True)
                return
            yield OverlapProgress("Comparing", step, len(other))
        seconds = {"encode": encoded - start, "compare": time.perf_counter() - encoded}
        compared = Compared(indexed, other, step, seconds)
        if session.corpus is indexed:
            session.compared = compared
        yield OverlapProgress("Compared", len(other), len(other), compared=compared)

    def stop(self, session_id: str) -> None:
        """End this session's comparison after the batch that is running."""
        self._bench.sessions.get(session_id).stop_overlap.set()

    def forget(self, session_id: str) -> None:
        """Another corpus: stop what is running, drop what was found in the one before."""
        self.stop(session_id)
        self._bench.sessions.get(session_id).compared = None

    def matches(self, session_id: str, threshold: float) -> tuple[Compared, list[Match]]:
        """The last comparison, and its rows that reach the threshold. Raises UserError before `compare`."""
        session = self._bench.sessions.get(session_id)
        threshold = checked_threshold(threshold)
        compared = session.compared
        if compared is None or compared.indexed is not session.corpus:
            raise UserError("There is no other file to compare with this corpus yet. Upload one.")
        return compared, compared.matches(threshold)

    def _read(self, table: Table, indexed: IndexedCorpus) -> Corpus:
        columns = list(indexed.corpus.columns)
        if not set(columns) <= set(table.frame.columns):
            columns = [guess_column(table.frame)]
        return read_corpus(table, columns, self._bench.settings.limits)
