"""What a collection holds after a bulk run."""

from pathlib import Path

import numpy as np

from sbert_app.collections import open_collection
from sbert_app.collections.collection import METADATA, ROW, SENTENCE, embeddings_of
from sbert_app.vectors import Vectors, unit_rows

Place = tuple[str, int]  # name of the file, number of the row


def contents(store: object) -> tuple[dict[Place, tuple[str, str]], Vectors]:
    """All rows of a collection by place, (sentence, metadata column n), and their embeddings in this order."""
    collection = open_collection(str(store))
    rows: dict[Place, tuple[str, str]] = {}
    vectors = [np.empty((0, collection.facts.dim), dtype=np.float32)]
    for table in collection.scan():
        places = [collection.facts.place(row) for row in table.column(ROW).to_pylist()]
        cells = zip(table.column(SENTENCE).to_pylist(), table.column(f"{METADATA}n").to_pylist(), strict=True)
        rows |= dict(zip([(Path(file).name, row) for file, row in places], cells, strict=True))
        vectors.append(embeddings_of(table))
    collection.close()
    return rows, np.vstack(vectors)


def least_cosine(first: Vectors, second: Vectors) -> float:
    """Between rows at the same place, (n, dim) each; float16 leaves no exact units."""
    return float((unit_rows(first) * unit_rows(second)).sum(1).min())
