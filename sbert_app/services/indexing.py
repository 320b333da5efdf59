"""Index a corpus with progress: wait in the queue, encode, build the index, save it, open it in the session."""

import logging
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import ClassVar

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.sessions import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench

log = logging.getLogger(__name__)

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
    of_corpus: ClassVar[bool] = True  # the end of the indexing is dropped with the corpus

    @property
    def sentences_per_second(self) -> float:
        return (self.done - self.cached) / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        return (self.total - self.done) / self.sentences_per_second if self.sentences_per_second else None


@dataclass(frozen=True)
class FormerIndex:
    """The index that the open corpus had before it was indexed again, to compare the two models."""

    indexed: IndexedCorpus
    of_corpus: ClassVar[bool] = True

    @property
    def nbytes(self) -> int:
        return self.indexed.nbytes


class Indexer:
    """Runs indexing jobs of sessions."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench

    def run(self, session: Session, corpus: Corpus, model: str) -> Iterator[IndexProgress]:
        """Wait in the queue, index, and open the result. The last event holds it or is `stopped`."""
        progress = IndexProgress(corpus.name, 0, len(corpus), 0, 0.0)
        stop = session.begin(INDEXING)
        with self._bench.lines.corpora.join(stop) as waiting:
            for before in waiting:
                yield replace(progress, stage=place_in_line(before, "job"))
            for progress in self._index(corpus, model, stop):
                if progress.corpus is None or self._open(session, progress, stop):
                    yield progress
                else:  # another corpus was opened meanwhile
                    yield replace(progress, stage="Stopped", stopped=True, corpus=None)

    def _open(self, session: Session, progress: IndexProgress, stop: Stop) -> bool:
        """Open the indexed corpus, unless the run was revoked. The index of another model of the same corpus is kept beside it."""
        before, indexed = session.get(IndexedCorpus), progress.corpus
        if indexed is None or not session.open(indexed, stop):
            return False
        session.put(progress)
        if before and before.fingerprint != indexed.fingerprint and before.corpus.sentences == indexed.corpus.sentences:
            session.put(FormerIndex(before))
        return True

    def _index(self, corpus: Corpus, model: str, stop: Stop) -> Iterator[IndexProgress]:
        """Load the corpus from the library, or encode and index it; the last event holds it or is `stopped`."""
        yield IndexProgress(corpus.name, 0, len(corpus), 0, 0.0, "Loading the model")
        encoder = self._bench.registry.encoder(model)
        start = time.perf_counter()
        saved = None if self._bench.settings.hosted else self._bench.library.find(corpus, encoder.fingerprint)
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
        truncated = encoder.count_too_long(corpus.sentences)
        indexed = IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, job.embeddings, truncated)
        yield self._saved(replace(progress, stage="Indexed", corpus=indexed))

    def _saved(self, progress: IndexProgress) -> IndexProgress:
        """Save the corpus for next time. A full disk becomes a note: the corpus can be used all the same."""
        indexed = progress.corpus
        if self._bench.settings.hosted or indexed is None or indexed.corpus.first_query:  # an example need not be saved
            return progress
        try:
            return replace(progress, corpus=replace(indexed, saved_id=self._bench.library.save(indexed)))
        except OSError as error:
            log.warning("corpus not saved: %s", error)
            return replace(progress, notes=(f"Ready to search, but not saved for next time: {error.strerror or error}.",))
