"""How fast is a search? One query over 300,000 sentences, and what FAISS takes for it when it is simply called."""

import os
import time
from collections.abc import Callable

import numpy as np

from sbert_app.corpus.index import VectorIndex
from sbert_app.corpus.indexed import HYBRID, IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.settings import Limits
from sbert_app.tables import table_from_lines
from sbert_app.vectors import unit_rows
from tests.benchmarks import data

QUERIES = 500
LARGE = int(os.environ.get("BENCH_LARGE", "300000"))


def large_corpus(count: int = LARGE) -> dict[str, object]:
    """Build time, size, recall@10 on queries that are not in the corpus, and query time by stage."""
    sentences = data.many_sentences(count + QUERIES)
    queries, sentences = sentences[:QUERIES], sentences[QUERIES:]
    encoder = Encoder.from_folder(bundled_folder(), choose_hardware("cpu"))
    start = time.perf_counter()
    embeddings = unit_rows(encoder.encode(sentences))
    encoded = time.perf_counter() - start
    corpus = read_corpus(table_from_lines("\n".join(sentences), Limits()), ["text"], Limits())
    indexed = IndexedCorpus.build(corpus, "", "", embeddings)
    stages: dict[str, list[float]] = {"tokenise + encode": [], "search": [], "BM25 and fusion": [], "dense together": []}
    found = []
    for query in queries:
        start = time.perf_counter()
        vector = unit_rows(encoder.encode([query]))[0]
        stages["tokenise + encode"].append((time.perf_counter() - start) * 1e3)
        ranking = indexed.rank(vector, query, 10, {})
        stages["dense together"].append((time.perf_counter() - start) * 1e3)
        stages["search"].append(ranking.milliseconds["search"])
        stages["BM25 and fusion"].append(indexed.rank(vector, query, 10, {}, HYBRID).milliseconds["BM25 and fusion"])
        found.append((vector, set(ranking.rows.tolist())))
    recall = np.mean([len(rows & set(np.argsort(-(embeddings @ vector))[:10].tolist())) / 10 for vector, rows in found])
    plain = _exact_milliseconds(embeddings, [vector for vector, _ in found[:100]])
    return {
        "sentences": len(corpus),
        "encode_seconds": encoded,
        "index": vars(indexed.index.report),
        "recall_at_10_unseen_queries": float(recall),
        "milliseconds_p50_p99": {n: [float(np.percentile(v, p)) for p in (50, 99)] for n, v in stages.items()},
        "plain_exact_search_p50_ms": plain,
        "times_plain_exact": plain / float(np.median(stages["search"])),
    }


def _exact_milliseconds(embeddings: np.ndarray, queries: list[np.ndarray]) -> float:
    exact = VectorIndex.build(embeddings, exact=True)
    return 1e3 * float(np.median([_timed(lambda q=q: exact.search(q[None], 10)) for q in queries]))


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report() -> dict[str, object]:
    return {"large_corpus": large_corpus()}
