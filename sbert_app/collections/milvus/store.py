"""A collection in Milvus, or in milvus-lite, which is its store for one process."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sbert_app.collections import Address
from sbert_app.collections.collection import EMBEDDING, FILE_BITS, ROW, Collection, CollectionError, Facts
from sbert_app.collections.milvus.client import BUILD_SECONDS, READ_SECONDS, WRITE_SECONDS, Connection, closing_on_error
from sbert_app.collections.milvus.filters import expression, fields_of
from sbert_app.collections.milvus.index import MOST_HITS, Index, StoredFacts, index_for, properties_of, ranked
from sbert_app.collections.milvus.rows import batches, output_fields, sample, schema_for, table
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN
from sbert_app.corpus.filters import conditions
from sbert_app.corpus.values import CONTRARY, FORMER, UNCLEAR, UNREADABLE, Unread
from sbert_app.vectors import Rows, Vectors

MOST_QUERIES = 200  # of a call
FORMERLY = (
    "The collection is of an earlier version, which read column '{}' only as {}: rows in another form are not in the result. "
    "Index the files into a new collection."
)
MOST_READ, READ_BYTES = 16_384, 32 << 20  # rows and bytes of a page


class MilvusCollection(Collection):
    approximate = IVF

    def __init__(self, connection: Connection) -> None:
        """Raises CollectionError if there is no collection, or one that something else made."""
        self._connection, self._name = connection, connection.address.name
        self._stored = StoredFacts(connection)

    @classmethod
    def create(cls, address: Address, facts: Facts, token: str = "") -> "MilvusCollection":
        """A new, empty collection. The columns and scales of its facts are final. Raises CollectionError if one is there."""
        connection = Connection(address, token, create=True)
        name, index = address.name, Index()
        settings: dict[str, Any] = {
            "schema": schema_for(facts),
            "index_params": index.parameters(),
            "properties": properties_of(facts, index),
            "consistency_level": "Bounded",
            "timeout": WRITE_SECONDS,
        }
        with closing_on_error(connection):
            if connection.call("looking for the collection", lambda client: client.has_collection(name, timeout=READ_SECONDS)):
                raise CollectionError(f"Milvus at {address.uri} has a collection '{name}' already. Open it, or take another name.")
            connection.call("creating the collection", lambda client: client.create_collection(name, **settings))
            return cls(connection)

    @classmethod
    def open(cls, address: Address, token: str = "") -> "MilvusCollection":
        """An existing collection. Raises CollectionError if there is none, or if something else made it."""
        connection = Connection(address, token)
        with closing_on_error(connection):
            return cls(connection)

    @property
    def address(self) -> str:
        return str(self._connection.address)

    @property
    def facts(self) -> Facts:
        return self._stored.current()[0]

    def upsert(self, rows: pa.Table) -> None:
        """See `Collection.upsert`; sentences and metadata are cut as `rows.batches` says."""
        self._check_dim(rows.schema.field(EMBEDDING).type.list_size)
        for records in batches(rows, self.facts):
            self._call("writing", "upsert", data=records, timeout=WRITE_SECONDS)

    def trim(self, file: int, rows: int) -> None:
        first, end = file << FILE_BITS, (file + 1) << FILE_BITS
        self._call("deleting rows", "delete", filter=f"{ROW} > {first + rows} and {ROW} < {end}", timeout=WRITE_SECONDS)

    def finish(self, facts: Facts) -> None:
        """Write out what was upserted, build the index if its kind or the number of rows asks for it, and write the facts."""
        before, built = self._stored.current()
        self._check_facts(facts, before)
        self._call("writing out", "flush", timeout=BUILD_SECONDS)
        index = index_for(facts.index, self.count())
        if not index.close_to(built):
            self._build(index)
            built = index
        self._stored.write(facts, built)
        self._connection.load()
        self.count()  # strongly consistent: after it, every search finds what was upserted

    def count(self) -> int:
        return self._count("")

    def search(self, queries: Vectors, top: int, filters: Mapping[str, Any] | None = None) -> tuple[Vectors, Rows]:
        """See `Collection.search`. With filters, more of the index is searched, as few rows of each list fulfil them."""
        facts, index = self._stored.current()
        self._check_dim(queries.shape[1])
        text = expression(conditions(filters or {}, facts.filterable), facts)
        top = max(0, min(top, MOST_HITS))
        cosines, rows = np.full((len(queries), top), -1, np.float32), np.full((len(queries), top), -1, np.int64)
        if not top:
            return cosines, rows
        share = self._count(text) / max(self.count(), 1) if text and index.kind != EXACT else 1.0
        settings = index.search_settings(top, share) | {"filter": text}
        size = max(1, min(MOST_QUERIES, READ_BYTES // (4 * facts.dim * settings["limit"])))
        for start in range(0, len(queries), size):
            data = list(np.asarray(queries[start : start + size], dtype=np.float32))
            hits = self._call("searching", "search", data=data, **settings)
            with self._connection.sentences("searching"):
                for place, (query, row) in enumerate(zip(data, hits, strict=True), start):
                    best = ranked(self._placed(row), query, top)
                    cosines[place, : len(best[0])], rows[place, : len(best[1])] = best
        return cosines, rows

    def unread(self, filters: Mapping[str, Any]) -> Sequence[str]:
        """See `Collection.unread`. Numbers were read when rows were written, as the first rows of the collection are."""
        facts = self.facts
        ranges = [condition.column for condition in conditions(filters, facts.filterable) if condition.is_range]
        return [sentence for column in ranges for sentence in self._unread(column, facts)]

    def _unread(self, column: str, facts: Facts) -> list[str]:
        scale, fields = facts.scales.get(column, ""), fields_of(column, facts)
        counts, examples = {}, {}
        for state in (UNREADABLE, UNCLEAR, CONTRARY) if self._count(f"{fields.state} >= {UNREADABLE}") else ():
            text = f"{fields.state} == {state}"
            if count := self._count(text):
                records = self._call("reading", "query", filter=text, output_fields=[fields.text], limit=1)
                counts[state], examples[state] = count, str(records[0][fields.text]) if records else ""
        unread = Unread(column, scale, counts, examples).in_words()
        return [*unread, FORMERLY.format(column, scale)] if scale in FORMER else unread

    def fetch(self, rows: Sequence[int]) -> pa.Table:
        ids, size = [int(row) for row in rows], self._page(MOST_READ)
        records: dict[int, Mapping[str, Any]] = {}
        for start in range(0, len(ids), size):
            settings = {"filter": f"{ROW} in {ids[start : start + size]}", "output_fields": output_fields(self.facts)}
            records |= self._call("reading", "query", lambda page: {record[ROW]: record for record in page}, **settings)
        return self._table([records[row] for row in ids if row in records])

    def sample(self, count: int) -> Rows:
        """See `rows.sample`: rows of at most 64 of the files, each as likely as any other of these."""
        return sample(self._count, self._known, len(self.facts.files), count)

    def scan(self, batch: int = 10_000) -> Iterator[pa.Table]:
        """All rows, in ascending order of ids, at most `batch` at a time, as they are when it begins."""
        iterator = self._call("reading", "query_iterator", batch_size=self._page(batch), output_fields=output_fields(self.facts))
        try:
            while page := self._connection.call("reading", lambda _: iterator.next()):
                yield self._table(page)
        finally:
            iterator.close()

    def drop(self) -> None:
        self._call("deleting the collection", "drop_collection", timeout=WRITE_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def _call(self, action: str, method: str, read: Callable[[Any], Any] = lambda answer: answer, **settings: Any) -> Any:
        """What `read` makes of the answer to a method of the client. Raises CollectionError, also for an answer it cannot read."""
        settings = {"timeout": READ_SECONDS} | settings
        return self._connection.call(action, lambda client: read(getattr(client, method)(self._name, **settings)))

    def _count(self, text: str) -> int:
        """The number of rows for which an expression holds, counted again."""
        settings = {"filter": text, "output_fields": ["count(*)"], "consistency_level": "Strong"}
        return int(self._call("counting", "query", lambda answer: int(answer[0]["count(*)"]), **settings))

    def _known(self, ids: Sequence[int]) -> list[int]:
        """Which of these ids are in the collection."""
        settings = {"filter": f"{ROW} in {list(ids)}", "output_fields": [ROW]}
        return list(self._call("reading ids", "query", lambda records: [record[ROW] for record in records], **settings))

    def _table(self, records: Sequence[Mapping[str, Any]]) -> pa.Table:
        with self._connection.sentences("reading"):
            return table(records, self.facts)

    def _placed(self, hits: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Without those of files that no facts name: another process is writing them, and has not finished."""
        files = len(self._stored.current()[0].files)
        if any(hit[ROW] >> FILE_BITS >= files for hit in hits):
            files = len(self._stored.read()[0].files)
        return [hit for hit in hits if 0 <= hit[ROW] >> FILE_BITS < files]

    def _page(self, rows: int) -> int:
        return max(1, min(rows, MOST_READ, READ_BYTES // (4 * self.facts.dim + 1024)))

    def _build(self, index: Index) -> None:
        """Replace the index. The collection cannot be searched meanwhile."""
        self._call("unloading", "release_collection", timeout=WRITE_SECONDS)
        if self._call("reading the index", "describe_index", index_name=EMBEDDING):
            self._call("deleting the index", "drop_index", index_name=EMBEDDING, timeout=WRITE_SECONDS)
        self._call("building the index", "create_index", index_params=index.parameters(), timeout=BUILD_SECONDS)

    def _check_dim(self, dim: int) -> None:
        if dim != self.facts.dim:
            raise CollectionError(
                f"Collection '{self._name}' holds embeddings of {self.facts.dim} numbers, by {self.facts.model}; "
                f"these have {dim}. Use the model it was made with."
            )

    def _check_facts(self, facts: Facts, before: Facts) -> None:
        """What rows were written by cannot change: their columns are numbered, and numbers were read on their scales."""
        if facts.index == SCANN:
            raise CollectionError(f"The index '{SCANN}' is for collections in a folder. In Milvus choose '{IVF}' or '{HNSW}'.")
        for name in ("dim", "sentence", "columns", "scales"):
            if getattr(facts, name) != getattr(before, name):
                raise CollectionError(f"The {name} of collection '{self._name}' cannot change any more. Create it again.")
