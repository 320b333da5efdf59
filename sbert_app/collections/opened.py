"""A collection that a visitor has opened, as the session holds it, with a random sample of its rows as a corpus."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from sbert_app.collections.collection import FILE_BITS, METADATA, ROW, SENTENCE, Collection, CollectionError, Facts, embeddings_of
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from sbert_app.corpus.hits import Store
from sbert_app.corpus.indexed import IndexedCorpus, Ranking
from sbert_app.corpus.ranking.fusion import z_scores
from sbert_app.corpus.reader import Corpus, free_names
from sbert_app.errors import UserError
from sbert_app.storage import UnreadableError
from sbert_app.vectors import Vectors
from sbert_app.watching import Private

log = logging.getLogger(__name__)

MOST_ID = (1 << 2 * FILE_BITS - 1) - 1  # the largest id that a row can have
KINDS = {EXACT: "exact", IVF: "IVF", HNSW: "HNSW", SCANN: "ScaNN"}  # of index, as they are written
MOST_SAMPLED = 10_000  # rows: a map of them takes seconds
FILE = "file"  # the column that names the file of a row, where there are several


def read_sample(name: str, key: str, collection: Collection, rows: int) -> IndexedCorpus:
    """At most MOST_SAMPLED random rows with their embeddings, named after the collection. key: what opens the collection again."""
    table = collection.fetch(collection.sample(MOST_SAMPLED).tolist())
    title = name if len(table) >= rows else f"{name}: sample of {len(table):,} of {rows:,} rows"
    facts = collection.facts
    corpus = replace(corpus_of(title, table, facts), store=key)
    if len(facts.files) > 1:
        names = [facts.file_names[row >> FILE_BITS] for row in corpus.rows.tolist()]
        corpus.metadata.insert(0, next(free_names([FILE], facts.filterable)), names)
    return IndexedCorpus.build(corpus, facts.model, facts.fingerprint, embeddings_of(table))


def corpus_of(name: str, table: pa.Table, facts: Facts) -> Corpus:
    """Rows of a collection as a corpus, numbered by their ids, with the columns of the files."""
    ids, sentences = table.column(ROW).to_numpy(), table.column(SENTENCE).to_pylist()
    columns = {column: table.column(METADATA + column).to_pylist() for column in facts.columns}
    metadata = pd.DataFrame(columns, index=range(len(ids)), dtype=str)
    return Corpus(name, (facts.sentence,), sentences, metadata, ids, row_names=row_names(ids.tolist(), facts))


def row_names(ids: Sequence[int], facts: Facts) -> dict[int, str]:
    """What rows are called where they come from several files: "17 of b.csv". Empty for one file, whose rows are numbers."""
    if len(facts.files) < 2:
        return {}
    return {row: f"{facts.place(row)[1]:,} of {facts.file_names[row >> FILE_BITS]}" for row in ids}


@dataclass(frozen=True)
class OpenCollection:
    """An open collection. key: what opens it again, its address or, hosted, its name in the list. rows: when it was opened.

    sample: the rows in memory, which the session holds as its corpus. listed: whether the app offers it, so that a page's address
    may open it. hosted: whether errors must not name addresses.
    """

    name: str
    key: str
    collection: Collection
    rows: int
    sample: IndexedCorpus
    listed: bool = False
    hosted: bool = False
    of_corpus: ClassVar[bool] = True

    @property
    def facts(self) -> Facts:
        return self.collection.facts

    @property
    def index(self) -> str:
        """Its index and how well it finds, in words."""
        return self.store(False).index

    @property
    def is_sampled(self) -> bool:
        """Whether it has more rows than are in memory."""
        return len(self.sample.corpus) < self.rows

    def store(self, filtered: bool) -> Store:
        """What a search result says of it."""
        facts = self.facts
        return Store(self.name, KINDS.get(facts.index, facts.index), facts.recall, facts.recall_queries, filtered)

    def reading(self) -> AbstractContextManager[None]:
        """Around each access to the store: failures become one sentence."""
        return reading(self.name, self.hosted)

    def closest(
        self, vector: Vectors, top: int, filters: Mapping[str, Any], leave_out: int | None = None
    ) -> tuple[IndexedCorpus, Ranking]:
        """The `top` closest rows to a unit query, (dim,): as a corpus, best first, and their ranking. leave_out: the query's id."""
        start = time.perf_counter()
        with self.reading():
            if self.facts.fingerprint != self.sample.fingerprint:
                raise CollectionError(f"The collection '{self.name}' has been made anew with another model. Open it again.")
            (scores,), (ids,) = self.collection.search(vector[None], top + (leave_out is not None), filters or None)
            hits = {row: score for row, score in zip(ids.tolist(), scores.tolist(), strict=True) if row not in (-1, leave_out)}
            table = self.collection.fetch(list(hits))
            count, notes = self.collection.count(), tuple(self.collection.unread(filters) if filters else ())
        corpus = corpus_of(self.name, table, self.facts)
        cosines = np.array([hits[row] for row in corpus.rows.tolist()], dtype=np.float32)[:top]
        rows = np.arange(len(cosines))
        milliseconds = {"store": (time.perf_counter() - start) * 1e3}
        # Words are as rare as in the sample; how much of the query they cover does not lower MaxSim here, as no words are ranked.
        fused = z_scores(cosines)
        ranking = Ranking(rows, cosines, np.full(len(rows), -1), milliseconds, count, fused=fused, coverage=1.0, notes=notes)
        # The word index is that of the sample.
        return replace(self.sample, corpus=corpus, embeddings=embeddings_of(table), passages=None, saved_id=""), ranking

    def close(self) -> None:
        self.collection.close()


@contextmanager
def reading(name: str, hosted: bool) -> Iterator[None]:
    """Turn a failure of a store into a CollectionError with one sentence; for visitors of a hosted app without addresses."""
    try:
        yield
    except (CollectionError, UnreadableError, OSError) as error:
        log.info("the collection %s cannot be read: %s", Private(name), type(error).__name__)
        if hosted or isinstance(error, OSError):
            raise CollectionError(f"The collection '{name}' cannot be read now. Try again, or open another corpus.") from None
        raise


def refuse_collection(opened: OpenCollection | None, what: str) -> None:
    """Raise UserError if a collection is open: what needs all rows in memory."""
    if opened is not None:
        raise UserError(f"{what} needs all rows in memory; of '{opened.name}' only a sample is. Index a file instead.")
