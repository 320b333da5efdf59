"""The second half of a bulk run: read the files again, and store each piece with its embeddings."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from sbert_app.bulk.measuring import measured_recall
from sbert_app.bulk.pieces import Cutter, Piece
from sbert_app.bulk.preparing import Plan
from sbert_app.bulk.request import AUTO, Progress, Summary
from sbert_app.bulk.shards import Shards
from sbert_app.bulk.sinks import IntoCollection, IntoParquet, table_of
from sbert_app.collections.collection import EMBEDDING, EXACT, ROW, Collection
from sbert_app.errors import UserError

MISSING = "its embeddings are missing, or the file has changed meanwhile: run the same command again"


def readable(cutter: Cutter, path: Path, failures: dict[str, str]) -> Iterator[Piece]:
    """The pieces of a file up to where it cannot be read further; then the reason is among the failures."""
    try:
        yield from cutter.pieces(path)
    except UserError as error:
        failures[str(path)] = str(error)


def place(piece: Piece) -> str:
    """How a piece is named in messages."""
    return f"{piece.path}, rows {piece.start + 1:,} to {piece.end:,}"


def store(plan: Plan, sink: IntoCollection | IntoParquet, shards: Shards, summary: Summary) -> Iterator[Progress]:
    """Hand all pieces to the sink that it does not hold. What has no embeddings is a failure in the summary."""
    done = 0
    for path in plan.paths:
        end, cutter = 0, Cutter(plan.columns, plan.request.shard_rows)
        for piece in readable(cutter, path, summary.failures):
            end, done = piece.end, done + len(piece.rows)
            if sink.holds(piece):
                continue
            embeddings = shards.read(piece.key(plan.facts.fingerprint), len(piece.rows)) if piece.rows else _none(plan)
            if embeddings is None:
                summary.failures.setdefault(place(piece), MISSING)
                continue
            sink.put(piece, piece.key(plan.facts.fingerprint), embeddings)
            summary.written += len(piece.rows)
            yield Progress("Storing", done, summary.rows)
        if str(path) not in summary.failures:
            sink.end(path, end)


def finish(plan: Plan, sink: IntoCollection, shards: Shards, summary: Summary) -> Iterator[Progress]:
    """Build the index if anything has changed, measure its recall, and fill in the summary. Raises UserError without any rows."""
    collection, old = sink.collection, sink.collection.facts
    if not sink.marks.rows and not collection.count():
        raise UserError(" ".join(["Nothing could be indexed.", *(f"{name}: {why}" for name, why in summary.failures.items())][:4]))
    kind = _kind(plan, collection, max(sink.marks.rows, collection.count()))
    facts = replace(plan.facts, index=kind, recall=1.0, recall_queries=0)
    if sink.changed or sink.marks.unfinished or (old.index, old.files) != (kind, facts.files):
        yield Progress("Building the index", 0, 0)
        sink.finish(facts)
    if kind != EXACT and not collection.facts.recall_queries:
        yield Progress("Measuring the recall", 0, 0)
        recall, queries = measured_recall(collection, _tables(plan, sink, shards, summary))
        sink.finish(replace(facts, recall=recall, recall_queries=queries))
    summary.index, summary.collection_rows = kind, collection.count()
    summary.recall, summary.recall_queries = collection.facts.recall, collection.facts.recall_queries
    if plan.request.work is None and not summary.failures:
        shards.keep_only(sink.marks.keys)


def _kind(plan: Plan, collection: Collection, rows: int) -> str:
    """As asked; else an approximate index stays what it is, and an exact one is kept while there are few rows."""
    if plan.request.index != AUTO:
        return plan.request.index
    return collection.kind_for(rows) if plan.facts.index == EXACT else plan.facts.index


def _tables(plan: Plan, sink: IntoCollection, shards: Shards, summary: Summary) -> Iterator[pa.Table]:
    """Row and embedding of everything in the collection: from the shards if they are all of it, else from the store."""
    if summary.failures or summary.rows != sink.collection.count():
        yield from sink.collection.scan()
        return
    for path in plan.paths:
        for piece in readable(Cutter(plan.columns, plan.request.shard_rows), path, {}):
            embeddings = shards.read(piece.key(plan.facts.fingerprint), len(piece.rows))
            if piece.rows and embeddings is not None:
                yield table_of(sink.facts, piece, embeddings, sink.number(path)).select([ROW, EMBEDDING])


def _none(plan: Plan) -> np.ndarray:
    return np.empty((0, plan.facts.dim), dtype=np.float16)
