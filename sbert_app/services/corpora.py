"""Load a corpus into a session: read a file, index it with progress, save it, reopen it. Search and map share it."""

import logging
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import SavedCorpus
from sbert_app.corpus.reader import Corpus, guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.sessions import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.tables import Table, read_table, table_from_lines

log = logging.getLogger(__name__)

NAME_LENGTH = 32
INDEXING = "indexing"  # job name


@dataclass(frozen=True)
class IndexProgress:
    """Progress of an indexing. Rate and remaining time count encoded sentences only, not cached ones."""

    name: str
    done: int
    total: int
    cached: int
    seconds: float
    stage: str = "Encoding"
    stopped: bool = False
    corpus: IndexedCorpus | None = None  # set at the end
    notes: tuple[str, ...] = ()

    @property
    def sentences_per_second(self) -> float:
        return (self.done - self.cached) / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        return (self.total - self.done) / self.sentences_per_second if self.sentences_per_second else None


class CorpusService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    @property
    def hosted(self) -> bool:
        return self._bench.settings.hosted

    def read_file(self, path: Path, name: str = "") -> Table:
        """Read an uploaded file without changing the session."""
        return read_table(path, self._limits, name)

    def read_lines(self, text: str) -> Table:
        """Read pasted lines as one sentence each; the corpus is named after the first line."""
        text = validation.text(text, "text with the lines")
        lines = text.strip().split("\n")
        if not lines[0]:
            raise UserError("There are no lines yet. Type or paste one sentence per line.")
        if len(text.encode()) > self._limits.file_bytes:
            raise UserError("The pasted text is too large. Save it as a .txt file and upload that.")
        first = lines[0] if len(lines[0]) <= NAME_LENGTH else f"{lines[0][:NAME_LENGTH]}…"
        return table_from_lines(text, self._limits, f"pasted: {first}")

    def put_table(self, session_id: str, table: Table) -> str:
        """Keep a table in the session, to be indexed once its text column is confirmed. Returns the guessed column."""
        column = guess_column(table.frame)
        self._bench.sessions.get(session_id).put(table)
        return column

    def drop_table(self, session_id: str) -> None:
        """Remove the table that waits for indexing; the open corpus stays."""
        self._bench.sessions.get(session_id).drop(Table)

    def open_example(self, session_id: str, name: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
        """Open a bundled corpus, which needs no indexing."""
        session = self._bench.sessions.get(session_id)
        return self._open(session, self._bench.examples.indexed(name, self._bench.registry.encoder(model)))

    def index(self, session_id: str, columns: list[str], model: str = DEFAULT_ENCODER) -> Iterator[IndexProgress]:
        """Index the session's table. The last event holds the corpus or is `stopped`; until then the previous corpus stays open."""
        session = self._bench.sessions.get(session_id)
        table = session.get(Table)
        if table is None:
            raise UserError("There is nothing to index yet. Upload a file, paste lines, or choose an example.")
        corpus = read_corpus(table, validation.names(columns, "sentence columns"), self._limits)
        progress = IndexProgress(corpus.name, 0, len(corpus), 0, 0.0)
        stop = session.begin(INDEXING)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield replace(progress, stage=place_in_line(before, "job"))
            for progress in self._index(corpus, model, stop):
                if progress.corpus is None or session.open(progress.corpus, stop):
                    yield progress
                else:  # another corpus was opened meanwhile
                    yield replace(progress, stage="Stopped", stopped=True, corpus=None)

    def stop(self, session_id: str) -> None:
        """Stop this session's indexing after the current batch."""
        self._bench.sessions.get(session_id).stop(INDEXING)

    def _index(self, corpus: Corpus, model: str, stop: Stop) -> Iterator[IndexProgress]:
        """Load the corpus from the library, or encode and index it; the last event holds it or is `stopped`."""
        yield IndexProgress(corpus.name, 0, len(corpus), 0, 0.0, "Loading the model")
        encoder = self._bench.registry.encoder(model)
        start = time.perf_counter()
        saved = None if self.hosted else self._bench.library.find(corpus, encoder.fingerprint)
        if saved:
            seconds = time.perf_counter() - start
            yield IndexProgress(corpus.name, len(corpus), len(corpus), len(corpus), seconds, "Opened", corpus=saved)
            return
        job = self._bench.embedder.job(encoder, corpus.sentences)
        progress = IndexProgress(corpus.name, job.cached, len(corpus), job.cached, 0.0)
        with closing(job.run()) as steps:
            for done in steps:
                progress = replace(progress, done=done, seconds=time.perf_counter() - start)
                if stop.is_set() and done < len(corpus):
                    yield replace(progress, stage="Stopped", stopped=True)
                    return
                yield progress
        yield replace(progress, stage="Building the index")
        indexed = IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, job.embeddings)
        yield replace(progress, stage="Indexed", corpus=indexed, notes=self._save(indexed))

    def _save(self, indexed: IndexedCorpus) -> tuple[str, ...]:
        if self.hosted:
            return ()
        try:
            self._bench.library.save(indexed)
        except OSError as error:
            log.warning("corpus not saved: %s", error)
            return (f"Ready to search, but not saved for next time: {error.strerror or error}.",)
        return ()

    # Saved corpora (local mode only: a hosted app keeps nothing on disk)

    def saved(self) -> list[SavedCorpus]:
        return [] if self.hosted else self._bench.library.list()

    def open_saved(self, session_id: str, corpus_id: str) -> IndexedCorpus:
        """Reopen a saved corpus without encoding anything."""
        session = self._bench.sessions.get(session_id)
        self._check_local()
        return self._open(session, self._bench.library.load(_checked_id(corpus_id)))

    def delete_saved(self, corpus_id: str) -> None:
        self._check_local()
        self._bench.library.delete(_checked_id(corpus_id))

    def _open(self, session: Session, corpus: IndexedCorpus) -> IndexedCorpus:
        """Make this the session's corpus and remove the table that waits for indexing."""
        session.open(corpus)
        session.drop(Table)
        return corpus

    def _check_local(self) -> None:
        if self.hosted:
            raise UserError("A hosted app saves no corpora. Upload the file again.")


def _checked_id(corpus_id: str) -> str:
    if not corpus_id:
        raise UserError("Choose a saved corpus first.")
    return corpus_id
