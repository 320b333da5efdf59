"""Index a corpus with progress: wait in the queue, encode, build the index, save it, open it in the session."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sbert_app.evaluation.similarity import draft_loss
from sbert_app.models.defaults import full_name, is_draft
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder


import logging
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.indexing import EncodedSoFar, FormerIndex, LongTexts
from sbert_app.corpus.reader import Corpus
from sbert_app.runtime.line import place_in_line
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

log = logging.getLogger(__name__)

INDEXING = "indexing"  # job name
ENCODING = "Encoding"  # the stage in which rows are searched already
SAMPLE = 200  # sentences, spread over the corpus, for the loss of a draft


@dataclass(frozen=True)
class IndexProgress:
    """Progress of an indexing. done, total: sentences and passages of long ones; passages: how many of the total are passages.

    Rate and remaining time count encoded sentences only, not cached ones.
    """

    name: str
    done: int
    total: int
    cached: int
    seconds: float
    stage: str = ENCODING
    stopped: bool = False
    corpus: IndexedCorpus | None = None  # set at the end
    notes: tuple[str, ...] = ()
    passages: int = 0
    of_corpus: ClassVar[bool] = True  # the end of the indexing is dropped with the corpus

    @property
    def sentences_per_second(self) -> float:
        return (self.done - self.cached) / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta_seconds(self) -> float | None:
        return (self.total - self.done) / self.sentences_per_second if self.sentences_per_second else None


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
            for progress in self._index(session, corpus, model, stop):
                if progress.corpus is None or self._open(session, progress, stop):
                    yield progress
                else:  # another corpus was opened meanwhile
                    yield replace(progress, stage="Stopped", stopped=True, corpus=None)

    def _open(self, session: Session, progress: IndexProgress, stop: Stop) -> bool:
        """Open the indexed corpus, unless the run was revoked. The index of another model of the same corpus is kept beside it."""
        before, indexed = session.get(IndexedCorpus), progress.corpus
        if indexed is None:
            return False
        differs = before and before.fingerprint != indexed.fingerprint and before.corpus.sentences == indexed.corpus.sentences
        return session.open(indexed, stop, progress, *([FormerIndex(before)] if before and differs else []))

    def _index(self, session: Session, corpus: Corpus, model: str, stop: Stop) -> Iterator[IndexProgress]:
        """Load the corpus from the library, or encode and index it; the last event holds it or is `stopped`."""
        yield IndexProgress(corpus.name, 0, len(corpus), 0, 0.0, "Loading the model")
        encoder = self._bench.registry.encoder(model)
        start = time.perf_counter()
        saved = None if self._bench.settings.hosted else self._bench.library.find(corpus, encoder.fingerprint)
        if saved:
            seconds = time.perf_counter() - start
            passages = len(saved.passages or ())
            total = len(corpus) + passages
            progress = IndexProgress(corpus.name, total, total, total, seconds, "Opened", corpus=saved, passages=passages)
            yield replace(progress, notes=self._loss(encoder, corpus))
            return
        long_texts = LongTexts(encoder, corpus.sentences)
        progress = IndexProgress(corpus.name, 0, len(corpus), 0, 0.0, "Cutting long texts")
        for _ in long_texts.cut():
            if stop.is_set():
                yield replace(progress, stage="Stopped", stopped=True)
                return
            yield progress
        yield from self._encode(session, corpus, encoder, long_texts, stop)

    def _encode(
        self, session: Session, corpus: Corpus, encoder: "Encoder", long_texts: LongTexts, stop: Stop
    ) -> Iterator[IndexProgress]:
        """Encode sentences and passages, and build the index."""
        texts, start = long_texts.texts, time.perf_counter()
        job, total = self._bench.embedder.job(encoder, [*corpus.sentences, *texts]), len(corpus) + len(texts)
        progress = IndexProgress(corpus.name, job.cached, total, job.cached, 0.0, passages=len(texts))
        count = len(corpus)
        so_far = EncodedSoFar(corpus, encoder.name, encoder.fingerprint, job.embeddings[:count], job.done[:count])
        with closing(job.run()) as steps, session.holding(so_far, stop):
            for done in steps:
                progress = replace(progress, done=done, seconds=time.perf_counter() - start)
                if stop.is_set() and done < total:
                    yield replace(progress, stage="Stopped", stopped=True)
                    return
                yield progress
        yield replace(progress, stage="Building the index")
        rows, rest = np.split(job.embeddings, [len(corpus)])
        passages = long_texts.passages(rest)
        indexed = IndexedCorpus.build(corpus, encoder.name, encoder.fingerprint, rows, long_texts.count, passages)
        notes = self._loss(encoder, corpus)
        yield self._saved(replace(progress, stage="Indexed", corpus=indexed, notes=notes))

    def _loss(self, encoder: "Encoder", corpus: Corpus) -> tuple[str, ...]:
        """The note about a draft's loss on this corpus; none for any other model."""
        loss = loss_in_words(self._bench, encoder, corpus.sentences)
        return (loss,) if loss else ()

    def _saved(self, progress: IndexProgress) -> IndexProgress:
        """Save the corpus for next time. A full disk becomes a note: the corpus can be used all the same."""
        indexed = progress.corpus
        if self._bench.settings.hosted or indexed is None or indexed.corpus.first_query:  # an example need not be saved
            return progress
        try:
            return replace(progress, corpus=replace(indexed, saved_id=self._bench.library.save(indexed)))
        except OSError as error:
            log.warning("corpus not saved: %s", error)
            return replace(
                progress, notes=(*progress.notes, f"Ready to search, but not saved for next time: {error.strerror or error}.")
            )


def loss_in_words(bench: Workbench, encoder: "Encoder", sentences: Sequence[str]) -> str:
    """A sentence with the measured loss, "" for an encoder that is no draft. Embeds the sample with both models."""
    if not is_draft(encoder.name):
        return ""
    distinct = list(dict.fromkeys(sentences))
    sample = distinct[:: -(-len(distinct) // SAMPLE)]
    full = bench.registry.encoder(full_name(encoder.name))
    return f"Draft in int8, {draft_loss(_embedded(bench, full, sample), _embedded(bench, encoder, sample))}."


def _embedded(bench: Workbench, encoder: "Encoder", sentences: Sequence[str]) -> Vectors:
    """As a corpus is embedded, so that the cache serves both."""
    job = bench.embedder.job(encoder, sentences)
    deque(job.run(), maxlen=0)  # run to the end
    return job.embeddings
