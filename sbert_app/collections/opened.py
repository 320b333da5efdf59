"""A collection that a visitor has opened, as the session holds it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from sbert_app.collections.collection import FILE_BITS, Collection, CollectionError, Facts
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from sbert_app.corpus.hits import Store
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.storage import UnreadableError

log = logging.getLogger(__name__)

MOST_ID = (1 << 2 * FILE_BITS - 1) - 1  # the largest id that a row can have
KINDS = {EXACT: "exact", IVF: "IVF", HNSW: "HNSW", SCANN: "ScaNN"}  # of index, as they are written


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

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around each access to the store: failures become one sentence."""
        with reading(self.name, self.hosted):
            yield

    def close(self) -> None:
        self.collection.close()


@contextmanager
def reading(name: str, hosted: bool) -> Iterator[None]:
    """Turn a failure of a store into a CollectionError with one sentence; for visitors of a hosted app without addresses."""
    try:
        yield
    except (CollectionError, UnreadableError, OSError) as error:
        log.warning("the collection %s cannot be read: %s", name, type(error).__name__)
        if hosted or isinstance(error, OSError):
            raise CollectionError(f"The collection '{name}' cannot be read now. Try again, or open another corpus.") from None
        raise
