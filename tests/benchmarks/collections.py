"""How large may a collection be on one machine? A million rows in a folder: bytes, seconds, recall, queries, filters."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from sbert_app.bulk.encoding import load_encoder
from sbert_app.collections.collection import TOP, Collection, Facts, embedding_column, exact_search, recall
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.faiss_index import EXACT, IVF, SCANN
from sbert_app.environment import settings_from_environment
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.vectors import Vectors, unit_rows
from tests.benchmarks import data
from tests.benchmarks.timing import milliseconds, seconds_of

ROWS = int(os.environ.get("BENCH_COLLECTION", "1000000"))
SINGLES = 300_000  # real sentences; further rows are two of them joined
QUERIES = 500
BATCH = 20_000
KINDS = os.environ.get("BENCH_INDEXES", f"{SCANN},{IVF},{EXACT}").split(",")
FILTERS = {"one in 10": {"team": "team 3"}, "one in 1,000": {"number": {"from": 0, "to": 999}}}


def texts(count: int) -> Iterator[str]:
    """`count` distinct texts after QUERIES others."""
    sentences = data.many_sentences(min(count, SINGLES) + QUERIES)
    yield from sentences[: count + QUERIES]
    pairs = random.Random(1)
    for _ in range(count - SINGLES):
        yield " ".join(pairs.sample(sentences, 2))


def embedded(count: int) -> tuple[list[str], Vectors]:
    """Queries, then rows, with their embeddings in float16, encoded once for all runs of this benchmark."""
    sentences = list(texts(count))
    path = Path(".bench") / f"collection-{count}.npy"
    if not path.exists():
        _encode(sentences, path)
    return sentences, np.load(path, mmap_mode="r")


def _encode(sentences: list[str], path: Path) -> None:
    """Write unit embeddings, (n, dim) float16; after a kill it goes on where it was."""
    encoder, part = load_encoder(settings_from_environment(), DEFAULT_ENCODER, converts=True), path.with_suffix(".part")
    shape = (len(sentences), encoder.dim)
    vectors = np.lib.format.open_memmap(part, "r+" if part.exists() else "w+", np.float16, shape)
    for start in range(0, len(sentences), BATCH):
        if not vectors[start].any():
            vectors[start : start + BATCH] = unit_rows(encoder.encode(sentences[start : start + BATCH]))
    vectors.flush()
    part.rename(path)


def facts_of(dim: int) -> Facts:
    return Facts("benchmark", "", dim, "text", ("team", "number"), {"number": "number"}, ("texts",))


def tables(sentences: list[str], vectors: Vectors, facts: Facts) -> Iterator[pa.Table]:
    """All rows, some at a time."""
    for start in range(0, len(sentences), BATCH):
        numbers = range(start, min(start + BATCH, len(sentences)))
        table = {
            "row": [number + 1 for number in numbers],
            "sentence": sentences[start : start + BATCH],
            "metadata.team": [f"team {number % 10}" for number in numbers],
            "metadata.number": [str(number) for number in numbers],
            "embedding": embedding_column(vectors[start : start + BATCH]),
        }
        yield pa.table(table, schema=facts.schema)


def report() -> dict[str, object]:
    sentences, vectors = embedded(ROWS)
    queries = np.asarray(vectors[:QUERIES], dtype=np.float32)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, start = Path(name), time.perf_counter()
        collection = FolderCollection.create(folder / "collection", facts := facts_of(vectors.shape[1]))
        for table in tables(sentences[QUERIES:], vectors[QUERIES:], facts):
            collection.upsert(table)
        figures: dict[str, object] = {"rows": ROWS, "write_seconds": time.perf_counter() - start}
        del sentences
        for kind in KINDS:
            seconds = seconds_of(lambda kind=kind: collection.finish(replace(facts, index=kind)))
            figures[kind] = {"build_seconds": seconds} | _measured(folder / "collection", queries)
        collection.close()
    return {"collection": figures}


def _measured(folder: Path, queries: Vectors) -> dict[str, object]:
    process = psutil.Process()
    before, start = process.memory_info().rss, time.perf_counter()
    collection = FolderCollection.open(folder)
    opened = time.perf_counter() - start
    first, *_ = searches(collection, queries[:1])
    alone = searches(collection, queries)
    start = time.perf_counter()
    scores, ids = collection.search(queries, TOP)
    together = (time.perf_counter() - start) / len(queries) * 1e3
    exact, exact_ids = exact_search(collection.scan(BATCH), queries, TOP)
    return {
        "bytes_on_disk": {suffix: _bytes(folder, suffix) for suffix in ("arrow", "faiss", "npy")},
        "open_seconds": opened,
        "resident_megabytes_more": (process.memory_info().rss - before) / 1e6,
        "first_query_ms": first,
        "query_ms_p50_p99": np.percentile(alone, (50, 99)).tolist(),
        "query_ms_500_together": together,
        "recall_at_10": recall(exact, exact_ids, scores, ids, np.full(len(queries), -1)),
        "filtered_ms_p50": {name: _filtered(collection, queries[:50], condition) for name, condition in FILTERS.items()},
    }


def _filtered(collection: FolderCollection, queries: Vectors, condition: dict[str, object]) -> list[float]:
    """The first query, for which the filter is evaluated, and the median of the others."""
    first, *others = searches(collection, queries, condition)
    return [first, float(np.median(others))]


def searches(collection: Collection, queries: Vectors, filters: dict[str, object] | None = None) -> list[float]:
    """Milliseconds of each query alone."""
    return milliseconds(lambda query: collection.search(query[None], TOP, filters), queries)


def _bytes(folder: Path, suffix: str) -> int:
    return sum(path.stat().st_size for path in folder.rglob(f"*.{suffix}"))
