"""Load a corpus into a session: read a file, index it with progress, save it, reopen it. Search and map share it."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.hits import SearchResult
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.library import SavedCorpus
from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.errors import UserError
from sbert_app.jobs.search.ranked_hits import search_so_far
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.indexing.indexer import INDEXING, Indexer, IndexProgress, loss_in_words
from sbert_app.storage import writing
from sbert_app.tables import Table, read_table, table_from_lines

log = logging.getLogger(__name__)

NAME_LENGTH = 32
TIMED_SENTENCES = 64  # encoded to estimate how long a whole corpus takes


@dataclass(frozen=True)
class OtherIndex:
    """An open corpus that another model could index: both models, rows, the seconds extrapolated from a sample, a draft's loss.

    is_collection: then it stays with its model.
    """

    name: str
    model: str
    other_model: str
    rows: int
    seconds: float
    loss: str = ""
    is_collection: bool = False


class CorpusService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits
        self._indexer = Indexer(workbench)

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

    def put_table(self, session: Session, table: Table) -> str:
        """Keep a table in the session, to be indexed once its text columns are confirmed. Returns the guessed column."""
        column = guess_column(table.frame)
        session.put(table)
        return column

    def table(self, session: Session) -> Table:
        """The session's table. Raises UserError if there is none."""
        table = session.get(Table)
        if table is None:
            raise UserError("There is nothing to index yet. Upload a file, paste lines, or choose an example.")
        return table

    def open_example(self, session: Session, name: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
        """Open a bundled corpus, which needs no indexing."""
        return self._open(session, self._bench.examples.indexed(name, self._bench.registry.encoder(model)))

    def index(self, session: Session, columns: list[str], model: str = DEFAULT_ENCODER) -> Iterator[IndexProgress]:
        """Index the session's table. The last event holds the corpus or is `stopped`; until then the previous corpus stays open."""
        corpus = read_corpus(self.table(session), validation.names(columns, "sentence columns"), self._limits)
        yield from self._indexer.run(session, corpus, model)

    def index_again(self, session: Session, model: str) -> Iterator[IndexProgress]:
        """Index the open corpus with another model, as `index`."""
        corpus = session.corpus().corpus
        refuse_collection(session.get(OpenCollection), "Indexing again")
        yield from self._indexer.run(session, corpus, model)

    def stop(self, session: Session) -> None:
        """Stop this session's indexing after the current batch."""
        session.stop(INDEXING)

    def search_so_far(self, session: Session, query: str) -> SearchResult:
        """The closest of the rows that the running indexing has encoded."""
        return search_so_far(self._bench, session, query)

    # The open corpus

    def current(self, session: Session) -> IndexedCorpus | None:
        """The session's corpus, None if none is open."""
        return session.get(IndexedCorpus)

    def last_indexing(self, session: Session) -> IndexProgress | None:
        """The end of the open corpus's indexing; None if it was opened without."""
        return session.get(IndexProgress)

    def has_table(self, session: Session) -> bool:
        """Whether the session still holds a table, so that other columns can be chosen."""
        return session.get(Table) is not None

    def other_index(self, session: Session, model: str) -> OtherIndex | None:
        """What indexing the open corpus again with this model means; None if its index is of this model, or there is no corpus."""
        indexed = self.current(session)
        if indexed is None:
            return None
        encoder = self._bench.registry.encoder(model)
        if encoder.fingerprint == indexed.fingerprint:
            return None
        if collection := session.get(OpenCollection):
            return OtherIndex(collection.name, indexed.model, encoder.name, collection.rows, 0.0, is_collection=True)
        sentences = indexed.corpus.sentences
        sample = sentences[:: -(-len(sentences) // TIMED_SENTENCES)]
        with self._bench.device.hold(short=True):
            start = time.perf_counter()  # without waiting for others
            encoder.encode(sample)
            seconds = (time.perf_counter() - start) / len(sample) * (len(sentences) + len(indexed.passages or ()))
        loss = loss_in_words(self._bench, encoder, sentences)
        return OtherIndex(indexed.corpus.name, indexed.model, encoder.name, len(sentences), seconds, loss)

    def export(self, session: Session, path: Path) -> None:
        """Write the open corpus's embeddings to a .npy or .parquet file."""
        indexed = session.corpus()
        with writing("The file"):
            indexed.write_embeddings(path)

    # Saved corpora (local mode only: a hosted app keeps nothing on disk)

    def saved(self) -> list[SavedCorpus]:
        return [] if self.hosted else self._bench.library.list()

    def open_saved(self, session: Session, corpus_id: str) -> IndexedCorpus:
        """Reopen a saved corpus without encoding anything."""
        self._check_local()
        return self._open(session, self._bench.library.load(_checked_id(corpus_id)))

    def delete_saved(self, corpus_id: str) -> None:
        self._check_local()
        self._bench.library.delete(_checked_id(corpus_id))

    def open_key(self, session: Session, key: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus | None:
        """Open the corpus that an address of this app names: an example or, not hosted, a saved corpus. None for any other name.

        A saved corpus has its id as key; by its file's name, the newest one of that name opens.
        """
        try:
            if key in self._bench.examples.names():
                return self.open_example(session, key, model)
            named = (entry.id for entry in self.saved() if entry.name == key and not entry.damaged)
            return None if self.hosted or not key else self.open_saved(session, next(named, key))
        except UserError:
            return None

    def _open(self, session: Session, corpus: IndexedCorpus) -> IndexedCorpus:
        """Make this the session's corpus and remove the table that waits for indexing."""
        session.open(corpus, without=Table)
        return corpus

    def _check_local(self) -> None:
        if self.hosted:
            raise UserError("A hosted app saves no corpora. Upload the file again.")


def _checked_id(corpus_id: str) -> str:
    if not corpus_id:
        raise UserError("Choose a saved corpus first.")
    return corpus_id
