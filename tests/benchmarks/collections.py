"""How large may a collection be on one machine? A million rows in a folder: bytes, seconds, recall, queries, filters."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from sbert_app.bulk.encoding import load_encoder
from sbert_app.collections import create_collection
from sbert_app.collections.collection import TOP, Collection, Facts, embedding_column, exact_search, recall
from sbert_app.collections.folder import FolderCollection
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, TIE
from sbert_app.corpus.filters import matching_rows
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
STORED = 20_000  # rows in both stores
STORES = {"folder": (EXACT, IVF, HNSW, SCANN), "Milvus Lite": (EXACT, IVF, HNSW)}
FILTERED = 20  # queries for each filter
TEXTS = ("guitar", "O'", '"', "%", "_", "ü", "é", "\\", "a man", "THE", "?", "dog's")
BOTH: list[dict[str, Any]] = [
    *({"text": {"contains": text}} for text in TEXTS),
    {"team": "team 3"},
    {"team": ["team 1", "team 2"]},
    {"number": {"from": 100, "to": 5_000}},
    {"number": {"from": 19_000}},
    {"number": {"to": 50}, "team": "team 7"},
    {"team": 'team 3" or row > 0 or "'},
    {"text": {"contains": "woman"}, "number": {"from": "1e3"}},
    {"text": {"contains": "children"}, "team": ["team 0", "team 9"]},
]


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


def fill(collection: Collection, sentences: list[str], vectors: Vectors) -> None:
    """Write all rows, some at a time."""
    for start in range(0, len(sentences), BATCH):
        numbers = range(start, min(start + BATCH, len(sentences)))
        table = {
            "row": [number + 1 for number in numbers],
            "sentence": sentences[start : start + BATCH],
            "metadata.team": [f"team {number % 10}" for number in numbers],
            "metadata.number": [str(number) for number in numbers],
            "embedding": embedding_column(vectors[start : start + BATCH]),
        }
        collection.upsert(pa.table(table, schema=collection.facts.schema))


def report() -> dict[str, object]:
    sentences, vectors = embedded(ROWS)
    queries = np.asarray(vectors[:QUERIES], dtype=np.float32)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder, start = Path(name), time.perf_counter()
        collection = FolderCollection.create(folder / "collection", facts := facts_of(vectors.shape[1]))
        fill(collection, sentences[QUERIES:], vectors[QUERIES:])
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


def stores() -> dict[str, object]:
    """Do a folder and Milvus find the same? The same real rows and 500 queries in both; needs requirements-scale.txt."""
    sentences, vectors = embedded(STORED)
    queries = np.asarray(vectors[:QUERIES], dtype=np.float32)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        opened: dict[str, Collection] = {}
        for name, address in {"folder": f"{folder}/rows", "Milvus Lite": f"{folder}/rows.db/rows"}.items():
            start = time.perf_counter()
            opened[name] = create_collection(address, facts_of(vectors.shape[1]))
            stack.callback(opened[name].close)
            fill(opened[name], sentences[QUERIES:], vectors[QUERIES:])
            opened[name].finish(opened[name].facts)
            print(f"{name}: {time.perf_counter() - start:.1f} s to write", flush=True)
        figures: dict[str, object] = {
            "same_top_10_exact": _same_top(opened, queries),
            "filters_that_agree": _filters(opened, queries),
        }
        exact = exact_search(opened["folder"].scan(), queries, TOP)
        for name, store in opened.items():
            figures[name] = {kind: _of_kind(store, kind, queries, exact) for kind in STORES[name]}
        return {"stores": {"rows": STORED} | figures}


def _same_top(stores: dict[str, Collection], queries: Vectors) -> float:
    """The share of queries for which both give the same ten rows; rows of equal cosine may take each other's place."""
    (scores, rows), (others, other_rows) = (store.search(queries, TOP) for store in stores.values())
    least = np.minimum(scores[:, -1], others[:, -1])[:, None] + TIE
    sure, other_sure = np.where(scores > least, rows, -1), np.where(others > least, other_rows, -1)
    return float(np.mean([set(a) - {-1} == set(b) - {-1} for a, b in zip(sure.tolist(), other_sure.tolist(), strict=True)]))


def _filters(stores: dict[str, Collection], queries: Vectors) -> str:
    """How many filters give the same cosines in both, and only rows that fit."""
    agree = 0
    for filters in BOTH:
        (scores, rows), (others, other_rows) = (store.search(queries[:FILTERED], TOP, filters) for store in stores.values())
        same = bool((np.abs(np.where(rows >= 0, scores, 0) - np.where(other_rows >= 0, others, 0)) < TIE).all())
        fits = True
        for name, store in stores.items():
            ids = np.unique(rows if name == "folder" else other_rows)
            table = store.fetch(ids[ids >= 0].tolist())
            fits &= bool(matching_rows(store.facts.cells(table, list(filters)), filters).mask.all())
        agree += same and fits
        if not (same and fits):
            print(f"not the same: {filters}", flush=True)
    return f"{agree} of {len(BOTH)}"


def _of_kind(store: Collection, kind: str, queries: Vectors, exact: tuple[Any, Any]) -> dict[str, float]:
    built = seconds_of(lambda: store.finish(replace(store.facts, index=kind)))
    share = recall(*exact, *store.search(queries, TOP), np.full(len(queries), -1))
    return {"build_seconds": built, "recall_at_10": share, "query_ms_p50": float(np.median(searches(store, queries[:100])))}
