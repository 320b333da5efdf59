"""Do a folder and Milvus find the same? The same real rows and 500 queries in both; needs requirements-scale.txt."""

import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from sbert_app.collections import create_collection
from sbert_app.collections.collection import Collection, exact_search
from sbert_app.corpus.faiss_index import EXACT, HNSW, IVF, SCANN, TIE, TOP, recall
from sbert_app.corpus.filters import matching_rows
from sbert_app.vectors import Vectors
from tests.benchmarks.collections import QUERIES, embedded, facts_of, searches, tables
from tests.benchmarks.timing import seconds_of

ROWS = 20_000
KINDS = {"folder": (EXACT, IVF, HNSW, SCANN), "Milvus Lite": (EXACT, IVF, HNSW)}
FILTERED = 20  # queries for each filter
TEXTS = ("guitar", "O'", '"', "%", "_", "ü", "é", "\\", "a man", "THE", "?", "dog's")
FILTERS: list[dict[str, Any]] = [
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


def report() -> dict[str, object]:
    sentences, vectors = embedded(ROWS)
    queries = np.asarray(vectors[:QUERIES], dtype=np.float32)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as opened:
        stores: dict[str, Collection] = {}
        for name, address in {"folder": f"{folder}/rows", "Milvus Lite": f"{folder}/rows.db/rows"}.items():
            start = time.perf_counter()
            stores[name] = create_collection(address, facts_of(vectors.shape[1]))
            opened.callback(stores[name].close)
            for table in tables(sentences[QUERIES:], vectors[QUERIES:], stores[name].facts):
                stores[name].upsert(table)
            stores[name].finish(stores[name].facts)
            print(f"{name}: {time.perf_counter() - start:.1f} s to write", flush=True)
        figures: dict[str, object] = {
            "same_top_10_exact": _same_top(stores, queries),
            "filters_that_agree": _filters(stores, queries),
        }
        exact = exact_search(stores["folder"].scan(), queries, TOP)
        for name, store in stores.items():
            figures[name] = {kind: _measured(store, kind, queries, exact) for kind in KINDS[name]}
        return {"stores": {"rows": ROWS} | figures}


def _same_top(stores: dict[str, Collection], queries: Vectors) -> float:
    """The share of queries for which both give the same ten rows; rows of equal cosine may take each other's place."""
    (scores, rows), (others, other_rows) = (store.search(queries, TOP) for store in stores.values())
    least = np.minimum(scores[:, -1], others[:, -1])[:, None] + TIE
    sure, other_sure = np.where(scores > least, rows, -1), np.where(others > least, other_rows, -1)
    return float(np.mean([set(a) - {-1} == set(b) - {-1} for a, b in zip(sure.tolist(), other_sure.tolist(), strict=True)]))


def _filters(stores: dict[str, Collection], queries: Vectors) -> str:
    """How many filters give the same cosines in both, and only rows that fit."""
    agree = 0
    for filters in FILTERS:
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
    return f"{agree} of {len(FILTERS)}"


def _measured(store: Collection, kind: str, queries: Vectors, exact: tuple[Any, Any]) -> dict[str, float]:
    built = seconds_of(lambda: store.finish(replace(store.facts, index=kind)))
    share = recall(*exact, *store.search(queries, TOP), np.full(len(queries), -1))
    return {"build_seconds": built, "recall_at_10": share, "query_ms_p50": float(np.median(searches(store, queries[:100])))}
