"""Measure the recall of a collection's index against exact search over all embeddings."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import ROW, Collection, Rows, embeddings_of
from sbert_app.collections.recall import QUERIES, TOP, exact_search, recall
from sbert_app.vectors import Vectors, unit_rows


def measured_recall(collection: Collection, tables: Iterable[pa.Table]) -> tuple[float, int]:
    """The share of the ten closest rows that the index finds, and the rows it was measured on. tables: all rows, embedded."""
    sample = collection.sample(QUERIES)
    rows = collection.fetch(sample.tolist())
    queries = unit_rows(embeddings_of(rows))
    own = rows.column(ROW).to_numpy()
    exact, exact_rows = exact_search(tables, queries, TOP + 1)
    _, returned = collection.search(queries, TOP + 1)
    return recall(exact, exact_rows, _exact_cosines(collection, queries, returned), returned, own), len(own)


def _exact_cosines(collection: Collection, queries: Vectors, returned: Rows) -> Vectors:
    """The cosines of the returned rows by their embeddings, (q, top): an index may give rounded ones."""
    ids = np.unique(returned[returned >= 0])
    rows = collection.fetch(ids.tolist())
    known, vectors = rows.column(ROW).to_numpy(), embeddings_of(rows)
    order = np.argsort(known)
    places = order[np.minimum(np.searchsorted(known[order], returned), len(known) - 1)]
    cosines = np.einsum("qd,qtd->qt", queries, vectors[places])
    exact: Vectors = np.where((returned >= 0) & (known[places] == returned), cosines, -np.inf).astype(np.float32)
    return exact
