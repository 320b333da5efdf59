"""How fast is the paper's question? The most similar pair, a race's extrapolation, BERT-base's size; and one search."""

import os
import tempfile
import time
from contextlib import nullcontext
from itertools import combinations
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import transformers

from sbert_app.corpus.indexed import HYBRID, IndexedCorpus
from sbert_app.corpus.reader import read_corpus
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.settings import Limits
from sbert_app.tables import table_from_lines
from sbert_app.timing.extrapolation import pairs_of
from sbert_app.timing.race import Race, closest_pair
from sbert_app.vectors import unit_rows
from tests.benchmarks import data, models
from tests.benchmarks.timing import alternate, milliseconds, seconds_of

HARDWARE = choose_hardware("cpu")  # what a GPU does: tests.benchmarks.cuda
COUNT, RACE_SECONDS, FULL, OF_PAPERS_SIZE = 10_000, 8, 200, 300
SETS = 3
QUERIES, LARGE = 500, int(os.environ.get("BENCH_LARGE", "300000"))


def closest() -> list[dict[str, Any]]:
    """The most similar pair of 10,000 sentences, from strings to answer, against brute force over fp32 embeddings."""
    everything = data.many_sentences(SETS * COUNT)
    fast, exact = models.encoder(HARDWARE), models.on_torch("fp32")
    fast.encode(everything[:256])
    results = []
    for start in range(0, len(everything), COUNT):
        sentences = everything[start : start + COUNT]
        found: list[Any] = []
        seconds = seconds_of(lambda s=sentences, f=found: f.append(closest_pair(unit_rows(fast.encode(s)))))
        embeddings = unit_rows(exact.encode(sentences))
        best = np.triu(embeddings @ embeddings.T, 1)
        pair = found[0]
        results.append(
            {
                "seconds": seconds,
                "same_pair": (pair.row1, pair.row2) == tuple(map(int, np.unravel_index(best.argmax(), best.shape))),
                "score": pair.score,
                "fp32_score_of_the_pair": float(best[pair.row1, pair.row2]),
                "fp32_best_score": float(best.max()),
                "all_pairs_step_ratio_to_faiss_knn": _step_ratio(embeddings),
            }
        )
        print(results[-1], flush=True)
    return results


def extrapolation() -> list[dict[str, float]]:
    """Predicted against really measured seconds of all 19,900 pairs of 200 sentences, three times."""
    encoder, cross = models.encoder(HARDWARE), models.cross_encoder(HARDWARE)
    everything = data.many_sentences(SETS * FULL)
    results = []
    for start in range(0, len(everything), FULL):
        sentences = everything[start : start + FULL]
        race = Race(encoder, cross, sentences, nullcontext)
        for _ in race.warm_up():
            pass
        for _ in race.run(RACE_SECONDS):
            pass
        predicted = race.cross.throughput().seconds_for(pairs_of(FULL))
        measured = seconds_of(lambda s=sentences: cross.score(list(combinations(s, 2))))
        results.append({"predicted": predicted.seconds, "measured": measured, "error": predicted.seconds / measured - 1})
        print(results[-1], flush=True)
    return results


def papers_size() -> dict[str, float]:
    """BERT-base's shape with random weights, the size the paper timed: sentences/s, pairs/s and hours for 49,995,000 pairs."""
    sentences = data.many_sentences(2 * OF_PAPERS_SIZE)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base, untrained, home = (Path(folder) / name for name in ("base", "cross", "openvino"))
        transformers.BertModel(transformers.BertConfig(vocab_size=30_522)).save_pretrained(base)
        transformers.AutoTokenizer.from_pretrained(bundled_folder()).save_pretrained(base)
        CrossEncoder.untrained(base, choose_hardware("cpu", "fp32"), 1).save(untrained)
        encoder = models.accelerated(Encoder.from_folder(base, HARDWARE), base, home=home)
        cross = models.accelerated(CrossEncoder.from_folder(untrained, HARDWARE), untrained, home=home)
    half = sentences[:OF_PAPERS_SIZE]
    pairs = list(zip(half, sentences[OF_PAPERS_SIZE:], strict=True))
    encoder.encode(half[:64]), cross.score(pairs[:64])
    seconds = alternate({"sentences": lambda: encoder.encode(half), "pairs": lambda: cross.score(pairs)})
    rates = {f"{name}_per_second": OF_PAPERS_SIZE / taken for name, taken in seconds.items()}
    return {**rates, "hours_for_10000_sentences": pairs_of(10_000) / rates["pairs_per_second"] / 3600}


def _step_ratio(embeddings: np.ndarray) -> float:
    """Times that FAISS's plain k-NN call over all rows takes as long as our all-pairs step."""
    sides = {
        "closest_pair": lambda: closest_pair(embeddings),
        "faiss.knn": lambda: faiss.knn(embeddings, embeddings, 2, metric=faiss.METRIC_INNER_PRODUCT),
    }
    seconds = alternate(sides)
    return seconds["faiss.knn"] / seconds["closest_pair"]


def report() -> dict[str, object]:
    return {
        "closest_pair_of_10000": closest(),
        "extrapolation": extrapolation(),
        "papers_size": papers_size(),
    }


def search() -> dict[str, object]:
    """One query over 300,000: build time, size, recall@10 on queries that are not in the corpus, and query time by stage."""
    sentences = data.many_sentences(LARGE + QUERIES)
    queries, sentences = sentences[:QUERIES], sentences[QUERIES:]
    encoder = models.on_torch()
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
