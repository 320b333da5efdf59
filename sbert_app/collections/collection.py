"""What every store of a collection can do, what a collection remembers about itself, and how much its index gives back."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from sbert_app.corpus.faiss_index import EXACT, INDEXES, TOP, recall
from sbert_app.corpus.values import is_scale
from sbert_app.corpus.vector_index import EXACT_ROWS
from sbert_app.errors import UserError
from sbert_app.vectors import Rows, Vectors, unit_rows

ROW, SENTENCE, EMBEDDING = "row", "sentence", "embedding"
METADATA = "metadata."  # how a column of the files is named in an Arrow table, so that it may be called "row" too
MOST_DIM = 65_536
QUERIES = 200  # that recall is measured on
FILE_BITS = 32  # a row's id is the number of its file, shifted by this, plus its number in the file, counted from 1


class CollectionError(UserError):
    """A collection cannot be opened, read or written; its text says why and what to do."""


@dataclass(frozen=True)
class Facts:
    """What a collection remembers: its encoder, the index, its columns and files.

    sentence: name of the sentence column in the files; columns: names of the others. joined: the columns whose texts make up the
    sentence, and their names its name; empty in collections of former versions. scales: of the columns that hold numbers or dates,
    how the first rows are written (see corpus.values): Milvus stores numbers that were read like this. recall: the share of the ten
    closest rows that the index finds, measured on `recall_queries` rows; 0 queries: not measured.
    """

    model: str
    fingerprint: str
    dim: int
    sentence: str
    columns: tuple[str, ...]
    scales: Mapping[str, str]
    files: tuple[str, ...]
    index: str = EXACT
    recall: float = 1.0
    recall_queries: int = 0
    joined: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> "Facts":
        """Raises ValueError, KeyError or TypeError for anything but what `to_json` wrote."""
        names = [facts["columns"], facts["files"], facts.get("joined", [])]
        texts = [facts["model"], facts["fingerprint"], facts["sentence"]]
        numbers, scales = [facts["dim"], facts["recall_queries"]], dict(facts["scales"])
        if not (
            all(type(value) is list and len(set(value)) == len(value) for value in names)
            and all(type(value) is str for value in (*texts, *names[0], *names[1], *names[2]))
            and all(type(value) is int and 0 <= value <= MOST_DIM for value in numbers)
            and 0 <= facts["recall"] <= 1 <= facts["dim"]
            and facts["index"] in INDEXES
            and scales.keys() <= {*names[0], facts["sentence"]}
            and all(map(is_scale, scales.values()))
        ):
            raise ValueError("facts that are none")
        lists = dict(zip(("columns", "files", "joined"), map(tuple, names), strict=True))
        return cls(**{name: {**facts, **lists}[name] for name in cls.__dataclass_fields__})

    def place(self, row: int) -> tuple[str, int]:
        """The file of a row and its number there, counted from 1."""
        return self.files[row >> FILE_BITS], row & (1 << FILE_BITS) - 1

    @cached_property
    def file_names(self) -> list[str]:
        """What the files are called: the last part of each path, with as many folders as tell it from the others."""
        parts = [PurePath(file).parts for file in self.files]
        ends = Counter(own[-count:] for own in parts for count in range(1, len(own) + 1))
        counts = [next((count for count in range(1, len(own)) if ends[own[-count:]] == 1), len(own)) for own in parts]
        return ["/".join(own[-count:]) for own, count in zip(parts, counts, strict=True)]

    @property
    def filterable(self) -> tuple[str, ...]:
        """The columns that filters may name."""
        return (*self.columns, self.sentence)

    def field(self, column: str) -> str:
        """How a column of the files is named in a table of `schema`."""
        return SENTENCE if column == self.sentence else METADATA + column

    def cells(self, rows: pa.Table, columns: Sequence[str]) -> pd.DataFrame:
        """Columns of the files from a table of `schema`."""
        return pd.DataFrame({name: pd.Series(rows.column(self.field(name)), dtype=pd.ArrowDtype(pa.string())) for name in columns})

    @property
    def schema(self) -> pa.Schema:
        """Of the tables that a store takes and gives: row, sentence, a column of text for each of `columns`, embedding."""
        metadata = [pa.field(METADATA + column, pa.string()) for column in self.columns]
        embedding = pa.field(EMBEDDING, pa.list_(pa.float16(), self.dim))
        return pa.schema([pa.field(ROW, pa.int64()), pa.field(SENTENCE, pa.string()), *metadata, embedding])


class Collection(Protocol):
    """An open collection. Many threads may read it at once; one process writes. approximate: its index of many rows, of INDEXES.

    All methods raise CollectionError if the store cannot be reached or does not hold what it should.
    """

    approximate: ClassVar[str]

    @property
    def address(self) -> str:
        """Where it is, without any token."""

    @property
    def facts(self) -> Facts: ...

    def kind_for(self, rows: int) -> str:
        """The kind of index for so many rows where none is asked for."""
        return EXACT if rows <= EXACT_ROWS else self.approximate

    def upsert(self, rows: pa.Table) -> None:
        """Write rows of `facts.schema` with unit embeddings; a row with a known id replaces it."""

    def trim(self, file: int, rows: int) -> None:
        """Delete a file's rows after row `rows`: the file has become shorter."""

    def finish(self, facts: Facts) -> None:
        """Build or renew the index and write the facts. What was upserted is found from now on."""

    def count(self) -> int:
        """The number of rows that can be found."""

    def search(self, queries: Vectors, top: int, filters: Mapping[str, Any] | None = None) -> tuple[Vectors, Rows]:
        """The closest rows of unit queries, (q, dim), best first: cosines and ids, (q, at most top); id -1 where none was found.

        The cosines are by the stored embeddings. filters: as in corpus.filters.matching_rows, which raises UserError.
        """

    def unread(self, filters: Mapping[str, Any]) -> Sequence[str]:
        """Sentences on the rows that could not be read for the ranges of these filters, and are therefore not found."""

    def fetch(self, rows: Sequence[int]) -> pa.Table:
        """These rows, in this order, with `facts.schema`; unknown ids are left out."""

    def sample(self, count: int) -> Rows:
        """The ids of at most `count` rows drawn at random, in ascending order."""

    def scan(self, batch: int = 10_000) -> Iterator[pa.Table]:
        """All rows, in ascending order of ids, `batch` at a time."""

    def drop(self) -> None:
        """Delete the collection for good."""

    def close(self) -> None: ...


def embeddings_of(rows: pa.Table) -> Vectors:
    """The embeddings of a table as an array, (n, dim) float32."""
    column = rows.column(EMBEDDING).combine_chunks()
    return column.flatten().to_numpy(zero_copy_only=True).reshape(-1, column.type.list_size).astype(np.float32)


def embedding_column(embeddings: Vectors) -> pa.Array:
    """Embeddings, (n, dim), as a column of float16 lists, which readers without this app understand."""
    flat = pa.array(np.ascontiguousarray(embeddings, dtype=np.float16).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, embeddings.shape[1])


def exact_search(tables: Iterable[pa.Table], queries: Vectors, top: int) -> tuple[Vectors, Rows]:
    """The closest rows of unit queries by comparing all, table by table: cosines and ids, (q, top), best first, id -1 for none."""
    scores = np.full((len(queries), top), -np.inf, dtype=np.float32)
    ids = np.full((len(queries), top), -1, dtype=np.int64)
    for table in tables:
        cosines = queries @ embeddings_of(table).T
        best = np.argpartition(-cosines, min(top, cosines.shape[1]) - 1, axis=1)[:, :top]
        scores = np.hstack([scores, np.take_along_axis(cosines, best, axis=1)])
        ids = np.hstack([ids, table.column(ROW).to_numpy()[best]])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        scores, ids = np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)
    return scores, ids


def measured_recall(collection: Collection, tables: Iterable[pa.Table]) -> tuple[float, int]:
    """The share of the ten closest rows that the index finds, and the rows it was measured on. tables: all rows, embedded."""
    rows = collection.fetch(collection.sample(QUERIES).tolist())
    queries, own = unit_rows(embeddings_of(rows)), rows.column(ROW).to_numpy()
    return recall(*exact_search(tables, queries, TOP + 1), *collection.search(queries, TOP + 1), own), len(own)
