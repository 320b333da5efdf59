"""Real collections of the example tickets, in a folder, embedded with the bundled model."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sbert_app.collections.collection import FILE_BITS, METADATA, Facts, embedding_column
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.values import read
from sbert_app.models.encoder import Encoder
from sbert_app.vectors import Vectors, unit_rows

TICKETS = Path(__file__).parents[3] / "assets" / "examples" / "support_tickets.csv"


def tickets(count: int) -> list[dict[str, str]]:
    with TICKETS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))[:count]


def make(folder: Path, encoder: Encoder, count: int = 200, files: Sequence[str] = ("tickets.csv",), **other: Any) -> Facts:
    """Write the first `count` tickets as a collection; of several files each takes its share, in turn."""
    import pandas as pd

    records = tickets(count)
    columns = [column for column in records[0] if column != "text"]
    scales = {name: values.scale for name in columns if (values := read(pd.Series([row[name] for row in records])))}
    facts = Facts(encoder.name, encoder.fingerprint, encoder.dim, "text", tuple(columns), scales, tuple(files))
    facts = replace(facts, **other)
    texts = [row["text"] for row in records]
    rows = [(i % len(files) << FILE_BITS) + i // len(files) + 1 for i in range(len(records))]
    embeddings = unit_rows(encoder.encode(texts, encoder.document_prompt))
    store(folder, facts, rows, texts, {column: [row[column] for row in records] for column in columns}, embeddings)
    return facts


def store(
    folder: Path, facts: Facts, rows: Sequence[int], texts: list[str], metadata: Mapping[str, Sequence[str]], embeddings: Vectors
) -> None:
    """Write these rows as a collection."""
    values = {METADATA + name: list(cells) for name, cells in metadata.items()}
    values |= {"row": list(rows), "sentence": texts, "embedding": embedding_column(embeddings)}
    collection = FolderCollection.create(folder, facts)
    collection.upsert(pa.table(values, schema=facts.schema))
    collection.finish(facts)
    collection.close()
