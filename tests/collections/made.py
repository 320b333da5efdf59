"""Collections of made-up rows: clustered unit vectors, texts with quotes, unicode and blanks, numbers and dates."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from sbert_app.collections.collection import FILE_BITS, Facts, embedding_column
from sbert_app.collections.folder import FolderCollection
from sbert_app.vectors import Vectors, unit_rows

DIM = 32
TEAMS = ("Billing", 'the "A" team', "O'Brien & co", "Zürich", "日本", "50%_off", "back\\slash", "")
FACTS = Facts(
    model="model",
    fingerprint="fingerprint",
    dim=DIM,
    sentence="text",
    columns=("team", "row", "day", "amount"),
    scales={"day": "date", "amount": "number, decimal point"},
    files=("a.csv", "b.csv"),
)


def clustered(count: int, seed: int = 0) -> Vectors:
    """Unit vectors around fifty centres, as real embeddings lie, (count, DIM)."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(50, DIM))
    return unit_rows((centres[rng.integers(0, 50, count)] + 0.6 * rng.normal(size=(count, DIM))).astype(np.float32))


def rows(numbers: Sequence[int], file: int = 0, seed: int = 0, note: str = "") -> pa.Table:
    """Rows of a file by their numbers in it, counted from 1."""
    numbers = list(numbers)
    columns = {
        "row": [(file << FILE_BITS) + number for number in numbers],
        "sentence": [f"{note}Sentence {number} of “file” {file}" for number in numbers],
        "metadata.team": [TEAMS[number % len(TEAMS)] for number in numbers],
        "metadata.row": [str(number) for number in numbers],
        "metadata.day": [f"2026-{1 + number % 12:02}-{1 + number % 28:02}" if number % 11 else "n/a" for number in numbers],
        "metadata.amount": [f"{number / 4:.2f}" if number % 13 else "unknown" for number in numbers],
        "embedding": embedding_column(clustered(len(numbers), seed + 1000 * file)),
    }
    return pa.table(columns, schema=FACTS.schema)


def collection_in(folder: Path, *counts: int) -> FolderCollection:
    """A finished collection in a folder, of files with so many rows."""
    collection = FolderCollection.create(folder, FACTS)
    for file, count in enumerate(counts):
        collection.upsert(rows(range(1, count + 1), file))
    collection.finish(FACTS)
    return collection
