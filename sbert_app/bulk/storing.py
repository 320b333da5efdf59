"""The second half of a bulk run: read the files again, write each piece with its embeddings into a collection or Parquet files."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sbert_app.bulk.checkpoint import Checkpoint, Halves, Shards
from sbert_app.bulk.pieces import Cutter, Piece
from sbert_app.bulk.preparing import BulkPlan
from sbert_app.bulk.request import AUTO, Summary
from sbert_app.collections.collection import EMBEDDING, FILE_BITS, ROW, Collection, Facts, embedding_column, measured_recall
from sbert_app.corpus.faiss_index import EXACT
from sbert_app.errors import UserError
from sbert_app.step import Step
from sbert_app.storage import read_object, reading, replacing, write_object, writing_to

MISSING = "its embeddings are missing, or the file has changed meanwhile: run the same command again"
FILE = "file"  # a column of the Parquet files
PARQUET = re.compile(r"\d{5}-\d{10}\.parquet")  # as `put` names a file
CONTENTS = "_contents.json"  # readers of a folder of Parquet files pass over names like this


class CollectionWriter:
    """Upserts pieces; where a file has changed, the rows from there on are taken out first. `changed`: whether it wrote."""

    def __init__(self, collection: Collection, facts: Facts, checkpoint: Checkpoint) -> None:
        """facts: with all files of this run."""
        self.collection, self.facts, self.checkpoint = collection, facts, checkpoint
        self._numbers = {name: number for number, name in enumerate(facts.files)}
        self._open: set[int] = set()  # files that are written again from some row on
        self.changed = False

    def number(self, path: Path) -> int:
        """The number of a file in the collection."""
        return self._numbers[str(path)]

    def holds(self, piece: Piece) -> bool:
        """Whether it has this piece already."""
        return self.checkpoint.holds(self.number(piece.path), piece.start, piece.content)

    def put(self, piece: Piece, key: str, embeddings: Halves) -> None:
        """Write a piece, with unit embeddings, (n, dim). The pieces of a file come in order."""
        number = self.number(piece.path)
        if number not in self._open:
            self._open.add(number)
            self._cut(number, piece.start)
        self.checkpoint.put(number, piece.start)
        if piece.rows:
            self.collection.upsert(table_of(self.facts, piece, embeddings, number))
        self.checkpoint.put(number, piece.start, piece.content, key, len(piece.rows))
        self.changed = True

    def end(self, path: Path, rows: int) -> None:
        """A file was read to its end and has so many rows."""
        self._cut(self.number(path), rows)

    def finish(self, facts: Facts) -> None:
        """Make what was written searchable."""
        self.collection.finish(facts)
        self.checkpoint.finish()
        self.facts, self.changed = facts, False

    def _cut(self, number: int, rows: int) -> None:
        if self.checkpoint.reaches(number, rows):
            self.checkpoint.cut(number, rows)
            self.checkpoint.put(number, rows)  # after a kill, or after the store was gone, the next run takes them out again
            self.collection.trim(number, rows)
            self.checkpoint.cut(number, rows)
            self.changed = True


class ParquetWriter:
    """Writes a Parquet file a piece: file, row (its number in there), sentence, metadata, embedding; it needs no app to be read."""

    def __init__(self, folder: Path, facts: Facts) -> None:
        """Raises DamagedError if what an earlier run wrote cannot be read."""
        self._folder, self._facts, self._names = folder, facts, list[str]()
        self._numbers = {name: number for number, name in enumerate(facts.files)}
        with writing_to(folder, "out"):
            folder.mkdir(parents=True, exist_ok=True)
        self._earlier = set[str]()  # files that an earlier run wrote; other names in its list are not believed
        if (folder / CONTENTS).exists():
            with reading(f"'{folder / CONTENTS}'", "Delete it, or choose another --out."):
                self._earlier = {name for name in read_object(folder / CONTENTS)["parts"] if PARQUET.fullmatch(name)}

    def holds(self, piece: Piece) -> bool:
        return False

    def put(self, piece: Piece, key: str, embeddings: Halves) -> None:
        import pyarrow.parquet

        if not piece.rows:
            return
        name = f"{self._numbers[str(piece.path)]:05}-{piece.start:010}.parquet"
        table = table_of(self._facts, piece, embeddings)
        file = pa.array([str(piece.path)] * len(table)).dictionary_encode()
        with writing_to(self._folder, "out"), replacing(self._folder / name) as temporary:
            pyarrow.parquet.write_table(table.add_column(0, FILE, file), temporary)
        self._names.append(name)

    def end(self, path: Path, rows: int) -> None:
        pass

    def finish(self, complete: bool) -> None:
        """Write what the folder holds; after a complete run, files of an earlier one that are not among them are deleted."""
        with writing_to(self._folder, "out"):
            names = self._names if complete else sorted({*self._names, *self._earlier})
            write_object(self._folder / CONTENTS, {"facts": self._facts.to_json(), "parts": names})
            for name in self._earlier - set(names):
                (self._folder / name).unlink(missing_ok=True)


def table_of(facts: Facts, piece: Piece, embeddings: Halves, file: int = 0) -> pa.Table:
    """The rows of a piece with `facts.schema`; their numbers become ids of the file with that number."""
    rows = pa.array(np.array(piece.rows, dtype=np.int64) + (file << FILE_BITS))
    texts = [pa.array(texts, pa.string()) for texts in (piece.sentences, *(piece.metadata[column] for column in facts.columns))]
    return pa.table([rows, *texts, embedding_column(np.asarray(embeddings, dtype=np.float32))], schema=facts.schema)


def readable(cutter: Cutter, path: Path, failures: dict[str, str]) -> Iterator[Piece]:
    """The pieces of a file up to where it cannot be read further; then the reason is among the failures."""
    try:
        yield from cutter.pieces(path)
    except UserError as error:
        failures[str(path)] = str(error)


def store(plan: BulkPlan, writer: CollectionWriter | ParquetWriter, shards: Shards, summary: Summary) -> Iterator[Step[Summary]]:
    """Hand all pieces to the writer that it does not hold. What has no embeddings is a failure in the summary."""
    done = 0
    for path in plan.paths:
        end, cutter = 0, Cutter(plan.facts, plan.request.shard_rows)
        for piece in readable(cutter, path, summary.failures):
            end, done = piece.end, done + len(piece.rows)
            if writer.holds(piece):
                continue
            key = piece.key(plan.facts.fingerprint)
            embeddings = shards.read(key, len(piece.rows)) if piece.rows else np.empty((0, plan.facts.dim), dtype=np.float16)
            if embeddings is None:
                summary.failures.setdefault(piece.name, MISSING)
                continue
            writer.put(piece, key, embeddings)
            summary.written += len(piece.rows)
            yield Step("Storing", done, summary.rows)
        if str(path) not in summary.failures:
            writer.end(path, end)


def finish(plan: BulkPlan, writer: CollectionWriter, shards: Shards, summary: Summary) -> Iterator[Step[Summary]]:
    """Build the index if anything has changed, measure its recall, and fill in the summary. Raises UserError without any rows."""
    collection, checkpoint, old = writer.collection, writer.checkpoint, writer.collection.facts
    if not (rows := max(checkpoint.rows, collection.count())):
        raise UserError(" ".join(["Nothing could be indexed.", *(f"{name}: {why}" for name, why in summary.failures.items())][:4]))
    kind = plan.request.index
    if kind == AUTO:  # an approximate index is kept, and an exact one while there are few rows
        kind = collection.kind_for(rows) if plan.facts.index == EXACT else plan.facts.index
    facts = replace(plan.facts, index=kind, recall=1.0, recall_queries=0)
    if writer.changed or checkpoint.unfinished or (old.index, old.files) != (kind, facts.files):
        yield Step("Building the index")
        writer.finish(facts)
    if kind != EXACT and not collection.facts.recall_queries:
        yield Step("Measuring the recall")
        recall, queries = measured_recall(collection, _tables(plan, writer, shards, summary))
        writer.finish(replace(facts, recall=recall, recall_queries=queries))
    summary.index, summary.collection_rows = kind, collection.count()
    summary.recall, summary.recall_queries = collection.facts.recall, collection.facts.recall_queries
    if plan.request.work is None and not summary.failures:
        shards.keep_only(checkpoint.keys)


def _tables(plan: BulkPlan, writer: CollectionWriter, shards: Shards, summary: Summary) -> Iterator[pa.Table]:
    """Row and embedding of everything in the collection: from the shards if they are all of it, else from the store."""
    if summary.failures or summary.rows != writer.collection.count():
        yield from writer.collection.scan()
        return
    for path in plan.paths:
        for piece in readable(Cutter(plan.facts, plan.request.shard_rows), path, {}):
            embeddings = shards.read(piece.key(plan.facts.fingerprint), len(piece.rows))
            if piece.rows and embeddings is not None:
                yield table_of(writer.facts, piece, embeddings, writer.number(path)).select([ROW, EMBEDDING])
