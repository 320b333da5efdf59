"""Which way of ranking finds what? All ways on four sets, with paired intervals: `python -m tests.benchmarks ranking`."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sbert_app.corpus.growing import Growing, StaticVectors
from sbert_app.corpus.hits import MAXSIM
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus, Ranking
from sbert_app.corpus.passages import LongTexts
from sbert_app.corpus.ranking.fusion import compared_order
from sbert_app.corpus.ranking.maxsim import COMPARED, TokenCache
from sbert_app.grid.ranking import measures
from sbert_app.labelled.queries import Queries
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.models.tokens import own_token_vectors
from sbert_app.vectors import Rows, Vectors, unit_rows
from tests.benchmarks import data, models
from tests.benchmarks.timing import seconds_of

FIRST = "first"  # MAXSIM before the corpus is indexed: the model reads only what static vectors and words choose for the query
WAYS = (DENSE, WORDS, HYBRID, MAXSIM, FIRST)
DEPTH, MOST_QUERIES, RESAMPLES = 100, 1_000, 2_000
SENTENCES_A_TEXT = 20  # joined, and cut to a number of words, to measure the stage
TOKEN_BYTES = 2 * 1024**3  # all token vectors of the largest set, so that each is computed once


def trecqa() -> Queries:
    """Questions and the answers that are right, searched among the answers to all questions."""
    rows = data.rows("retrieval_trecqa/test")
    return _of_pairs([(row["question"], row["answer"]) for row in rows], [row["label"] == "1" for row in rows])


def quora() -> Queries:
    """Questions and the questions marked as their duplicates, searched among all questions."""
    rows = [row for row in data.rows("quora/dev") if row["sentence1"] != row["sentence2"]]
    both = [(row["sentence1"], row["sentence2"]) for row in rows] + [(row["sentence2"], row["sentence1"]) for row in rows]
    return _of_pairs(both, 2 * [row["label"] == "1" for row in rows])


def titles() -> Queries:
    """Titles of questions about programming, and those with the same tag: a query is a title, which is not searched itself."""
    rows = {row["text"]: row["label"] for row in data.rows("topics/stackoverflow_titles")}
    texts, labels = list(rows), np.array(list(rows.values()))
    chosen = np.random.default_rng(0).choice(len(texts), 500, replace=False).tolist()
    others = np.setdiff1d(np.arange(len(texts)), chosen)
    relevant = [dict.fromkeys(np.flatnonzero(labels[others] == labels[row]).tolist(), 1.0) for row in chosen]
    return Queries([texts[row] for row in chosen], [texts[row] for row in others.tolist()], relevant)


SETS: dict[str, tuple[Callable[[], Queries], str]] = {
    "SciFact": (data.scifact, "ndcg_at_10"),
    "TREC-QA": (trecqa, "mrr_at_10"),
    "Quora": (quora, "ndcg_at_10"),
    "Stack Overflow titles": (titles, "ndcg_at_10"),
}


def _of_pairs(pairs: list[tuple[str, str]], right: list[bool]) -> Queries:
    """Up to MOST_QUERIES first sentences that have a right second one; the documents are all second sentences."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(second for _, second in pairs))}
    relevant: dict[str, dict[int, float]] = {}
    for (first, second), is_right in zip(pairs, right, strict=True):
        if is_right and first != second:
            relevant.setdefault(first, {})[rows[second]] = 1.0
    queries = list(relevant)[:MOST_QUERIES]
    return Queries(queries, list(rows), [relevant[query] for query in queries])


def indexed_corpus(encoder: Encoder, sentences: list[str]) -> IndexedCorpus:
    long_texts = LongTexts(encoder, sentences)
    for _ in long_texts.cut():
        pass
    passages = long_texts.passages(encoder.encode(long_texts.texts))
    indexed = replace(data.indexed(encoder, sentences), truncated=long_texts.count, passages=passages)
    indexed.__dict__["tokens"] = TokenCache(TOKEN_BYTES)
    return indexed


def unread(encoder: Encoder, indexed: IndexedCorpus) -> IndexedCorpus:
    """The same corpus before the model has read a row; what it reads then is taken from the whole one."""
    sentences = indexed.corpus.sentences
    rows = {text: row for row, text in enumerate(sentences)}

    def read(texts: list[str]) -> tuple[Vectors, list[Vectors]]:
        read_now = [rows[text] for text in texts]
        known = indexed.tokens.vectors(read_now, lambda new: own_token_vectors(encoder, [sentences[row] for row in new]))
        return indexed.embeddings[read_now], known

    static, count = StaticVectors(indexed.lexical, shipped=encoder.folder == bundled_folder()), len(indexed.corpus)
    static.place(encoder.encode(static.words))
    nothing = np.zeros((count, encoder.dim), np.float32), np.zeros(count, bool)
    growing = Growing(sentences, indexed.lexical, static, read, *nothing)
    return replace(indexed, embeddings=growing.embeddings, passages=None, growing=growing)


def word_by_word(encoder: Encoder, indexed: IndexedCorpus, query: str, both: Ranking) -> Rows:
    """The rows of a hybrid ranking in the order of MAXSIM."""
    comparison = indexed.compared(encoder, query, both.rows[:COMPARED].tolist(), both.passages[:COMPARED].tolist())
    return both.rows[compared_order(both.fused, comparison.matches.scores, both.coverage)]


def rankings(encoder: Encoder, indexed: IndexedCorpus, first: IndexedCorpus, query: str, vector: Vectors) -> dict[str, Any]:
    """The best DEPTH rows of each way for a query, as Search ranks them. A question that is a row itself is left out."""
    best = {way: indexed.rank(vector, query, DEPTH, {}, way) for way in (DENSE, WORDS, HYBRID)}
    first.growing.done[:] = False
    both = {MAXSIM: (indexed, best[HYBRID]), FIRST: (first, first.rank(vector, query, DEPTH, {}, HYBRID))}
    rows = {way: ranking.rows for way, ranking in best.items()}
    rows |= {way: word_by_word(encoder, of, query, ranking) for way, (of, ranking) in both.items()}
    same = [row for row in best[HYBRID].rows.tolist() if indexed.corpus.sentences[row] == query]
    return {way: ranking[~np.isin(ranking, same)] for way, ranking in rows.items()}


def one_set(encoder: Encoder, queries: Queries, measure: str) -> dict[str, Any]:
    """The mean ×100 of each way; for each the paired difference to dense with a 95 % interval, and the queries it is better on."""
    start = time.perf_counter()
    indexed = indexed_corpus(encoder, queries.documents)
    vectors = unit_rows(encoder.encode(queries.queries, encoder.prompt("query")))
    first = unread(encoder, indexed)
    ranked = [rankings(encoder, indexed, first, *query) for query in zip(queries.queries, vectors, strict=True)]
    values = {way: measures(queries, [rows[way] for rows in ranked])[measure] for way in WAYS}
    return {
        "documents": len(queries.documents),
        "queries": len(queries.queries),
        "measure": measure,
        "mean_x100": {way: 100 * float(column.mean()) for way, column in values.items()},
        "minus_dense": {way: paired(values[way], values[DENSE]) for way in WAYS[1:]},
        "maxsim_minus_hybrid": paired(values[MAXSIM], values[HYBRID]),
        "first_minus_maxsim": paired(values[FIRST], values[MAXSIM]),
        "seconds": time.perf_counter() - start,
    }


def paired(values: np.ndarray, base: np.ndarray) -> dict[str, float]:
    """The mean difference ×100 with its 95 % bootstrap interval over queries, and how many queries are better and worse."""
    difference = values - base
    samples = np.random.default_rng(0).integers(0, len(difference), (RESAMPLES, len(difference)))
    low, high = np.percentile(difference[samples].mean(axis=1), [2.5, 97.5])
    counts = {"better": int((difference > 0).sum()), "worse": int((difference < 0).sum())}
    return {"mean": 100 * float(difference.mean()), "low": 100 * float(low), "high": 100 * float(high), **counts}


def stage(encoder: Encoder, words: int, rows: int = 1_000) -> dict[str, float]:
    """Milliseconds of comparing COMPARED rows of so many words, new and known ones; bytes that 10,000 such rows would take."""
    pool = data.many_sentences(SENTENCES_A_TEXT * rows)
    texts = (" ".join(pool[i::rows]).split()[:words] for i in range(rows))
    indexed = indexed_corpus(encoder, [" ".join(text) for text in texts])
    query, random = "does exercise lower the risk of a heart attack", np.random.default_rng(1)
    times: dict[str, list[float]] = {"new": [], "known": []}
    for _ in range(10):
        chosen = random.choice(rows, COMPARED, replace=False).tolist()
        indexed.__dict__["tokens"] = TokenCache(TOKEN_BYTES)
        for kind in times:
            times[kind].append(1e3 * seconds_of(lambda chosen=chosen: indexed.compared(encoder, query, chosen, [-1] * len(chosen))))
    tokens = float(np.mean([len(ids) for ids in encoder.tokenize(indexed.corpus.sentences)]))
    per_row = indexed.tokens.nbytes / COMPARED
    medians = {f"{kind}_milliseconds": float(np.median(values)) for kind, values in times.items()}
    return {"tokens": tokens, **medians, "megabytes_per_10000_rows": per_row / 100}


def report() -> dict[str, object]:
    encoder = models.encoder(choose_hardware())
    results: dict[str, object] = {"runs_on": encoder.runs_on}
    for name, (read, measure) in SETS.items():
        results[name] = one_set(encoder, read(), measure)
        print(f"  {name}: {results[name]}", flush=True)
    return results | {"stage": {f"{words} words": stage(encoder, words) for words in (22, 150)}}
