"""How much of exact search an index of a collection gives back, measured on rows of the collection itself."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import ROW, Collection, Rows, embeddings_of
from sbert_app.corpus.faiss_index import TOP, recall
from sbert_app.vectors import Vectors, unit_rows

QUERIES = 200


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
    _, returned = collection.search(queries, TOP + 1)
    cosines = _exact_cosines(collection, queries, returned)
    return recall(*exact_search(tables, queries, TOP + 1), cosines, returned, own), len(own)


def _exact_cosines(collection: Collection, queries: Vectors, returned: Rows) -> Vectors:
    """The cosines of the returned rows by their embeddings, (q, top): an index may give rounded ones."""
    rows = collection.fetch(np.unique(returned[returned >= 0]).tolist())
    known, vectors = rows.column(ROW).to_numpy(), embeddings_of(rows)
    order = np.argsort(known)
    places = order[np.minimum(np.searchsorted(known[order], returned), len(known) - 1)]
    cosines = np.einsum("qd,qtd->qt", queries, vectors[places])
    exact: Vectors = np.where((returned >= 0) & (known[places] == returned), cosines, -np.inf).astype(np.float32)
    return exact
