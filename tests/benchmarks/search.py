"""How fast is a search? One query over 300,000 sentences, and what FAISS takes for it when it is simply called."""

import os
import time

import numpy as np

from sbert_app.corpus.indexed import HYBRID, IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.settings import Limits
from sbert_app.tables import table_from_lines
from sbert_app.vectors import unit_rows
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.timing import milliseconds

QUERIES = 500
LARGE = int(os.environ.get("BENCH_LARGE", "300000"))


def report() -> dict[str, object]:
    """Build time, size, recall@10 on queries that are not in the corpus, and query time by stage."""
    sentences = data.many_sentences(LARGE + QUERIES)
    queries, sentences = sentences[:QUERIES], sentences[QUERIES:]
    encoder = on_torch()
    start = time.perf_counter()
    embeddings = unit_rows(encoder.encode(sentences))
    encoded = time.perf_counter() - start
    corpus = read_corpus(table_from_lines("\n".join(sentences), Limits()), ["text"], Limits())
    indexed = IndexedCorpus.build(corpus, "", "", embeddings)
    stages: dict[str, list[float]] = {"tokenise + encode": [], "search": [], "BM25 and fusion": [], "dense together": []}
    vectors, shares = [], []
    for query in queries:
        start = time.perf_counter()
        vectors.append(unit_rows(encoder.encode([query]))[0])
        stages["tokenise + encode"].append((time.perf_counter() - start) * 1e3)
        ranking = indexed.rank(vectors[-1], query, 10, {})
        stages["dense together"].append((time.perf_counter() - start) * 1e3)
        stages["search"].append(ranking.milliseconds["search"])
        stages["BM25 and fusion"].append(indexed.rank(vectors[-1], query, 10, {}, HYBRID).milliseconds["BM25 and fusion"])
        shares.append(np.isin(np.argsort(-(embeddings @ vectors[-1]))[:10], ranking.rows).mean())
    exact = VectorIndex.build(embeddings, exact=True)
    plain = float(np.median(milliseconds(lambda vector: exact.search(vector[None], 10), vectors[:100])))
    figures = {
        "sentences": len(corpus),
        "encode_seconds": encoded,
        "index": vars(indexed.index.report),
        "recall_at_10_unseen_queries": float(np.mean(shares)),
        "milliseconds_p50_p99": {name: np.percentile(values, (50, 99)).tolist() for name, values in stages.items()},
        "plain_exact_search_p50_ms": plain,
        "times_plain_exact": plain / float(np.median(stages["search"])),
    }
    return {"large_corpus": figures}
