"""Queries with judged documents: rank by vectors, words, both, or a cross-encoder over the best, and measure the rankings."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.ranking.fusion import Scores, best_rows, compared_order, hybrid
from sbert_app.corpus.ranking.lexical import LexicalIndex, Tick, ticking
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.errors import UserError
from sbert_app.evaluation.metrics import interval, mean, resampled
from sbert_app.grid.data_set import RETRIEVAL, SHORT, DataSet, Mistake, TaskResult
from sbert_app.grid.systems import System
from sbert_app.labelled.queries import Queries
from sbert_app.vectors import Array, Rows, Vectors, unit_rows
from sbert_app.wording import short

DEPTH = 100  # documents of a ranking
RERANKED = 30  # of them that a cross-encoder reads again, as in Search
CUT = 10
BLOCK = 500  # queries compared with all documents at a time: bounds memory
MOST_PAIRS = 100_000  # of query and candidate that a cross-encoder reads
RANKING = ("ndcg_at_10", "mrr_at_10", "recall_at_100")
Compare = Callable[[LexicalIndex, int, Rows], Scores]  # words of the documents, number of a query, rows -> their MaxSim scores
PairScores = Callable[[list[tuple[str, str]]], Array]


def by_vectors(data: Queries, queries: Vectors, documents: Vectors, tick: Tick) -> list[Rows]:
    """The best documents of each query by cosine, best first. queries (Q, dim), documents (D, dim)."""
    queries, documents = unit_rows(queries), unit_rows(documents)
    blocks = (queries[start : start + BLOCK] @ documents.T for start in range(0, len(queries), BLOCK))
    return [_best(row, data, number) for number, row in enumerate(ticking((row for block in blocks for row in block), tick))]


def by_words(data: Queries, tick: Tick) -> list[Rows]:
    """The best documents by BM25; those without a word of the query are not ranked."""
    return [best_rows(scores, DEPTH) for scores, _ in _by_bm25(data, LexicalIndex.build(ticking(data.documents, tick)), tick)]


def by_both(data: Queries, queries: Vectors, documents: Vectors, tick: Tick, compare: Compare | None = None) -> list[Rows]:
    """The best documents by cosine and BM25, as hybrid search ranks, and by `compare`. queries (Q, dim), documents (D, dim)."""
    index = LexicalIndex.build(ticking(data.documents, tick))
    queries, documents = unit_rows(queries), unit_rows(documents)
    rankings = []
    for number, (words, coverage) in enumerate(_by_bm25(data, index, tick)):
        cosines = documents @ queries[number]
        rows, fused = hybrid(_best(cosines, data, number), cosines.__getitem__, words, coverage)
        if compare:
            rows = rows[compared_order(fused, compare(index, number, rows[:COMPARED]), coverage)]
        rankings.append(rows[:DEPTH])
    return rankings


def _by_bm25(data: Queries, index: LexicalIndex, tick: Tick) -> Iterator[tuple[Vectors, float]]:
    """For each query the BM25 scores of all documents, (D,), 0 for those that are no candidates, and how much of it they cover."""
    for number, query in enumerate(data.queries):
        tick()
        scores = index.scores(query)
        if data.candidates is not None:
            others = np.ones(len(scores), dtype=bool)
            others[data.candidates[number]] = False
            scores[others] = 0
        yield scores, index.coverage(query, scores)


def reranked(data: Queries, rankings: Sequence[Rows], score: PairScores) -> list[Rows]:
    """The first RERANKED of each ranking in the order of a cross-encoder, then the others."""
    heads = [ranking[:RERANKED] for ranking in rankings]
    return [
        np.concatenate([head[order], ranking[RERANKED:]])
        for head, order, ranking in zip(heads, _orders(data, heads, score), rankings, strict=True)
    ]


def by_pairs(data: Queries, score: PairScores) -> list[Rows]:
    """The candidates in the order of a cross-encoder. Raises UserError where it would have to read every document."""
    if data.candidates is None or sum(map(len, data.candidates)) > MOST_PAIRS:
        pairs = len(data.queries) * len(data.documents)
        raise UserError(f"Would read {pairs:,} pairs of query and document. Use the system re-ranked.")
    return [rows[order] for rows, order in zip(data.candidates, _orders(data, data.candidates, score), strict=True)]


def measures(data: Queries, rankings: Sequence[Rows]) -> dict[str, Array]:
    """The measures of RANKING for each query, (Q,), 0..1: gain discounted by rank, one over the first right rank, share found."""
    discounts = 1 / np.log2(np.arange(CUT) + 2)
    values: dict[str, list[float]] = {name: [] for name in RANKING}
    for ranking, relevant in zip(rankings, data.relevant, strict=True):
        gains = np.array([relevant.get(row, 0.0) for row in ranking.tolist()])
        ideal = np.sort(np.array(list(relevant.values())))[::-1][:CUT]
        top = gains[:CUT]
        right = np.flatnonzero(top)
        values["ndcg_at_10"].append(float(top @ discounts[: len(top)]) / float(ideal @ discounts[: len(ideal)]))
        values["mrr_at_10"].append(1 / (int(right[0]) + 1) if len(right) else 0.0)
        values["recall_at_100"].append(int((gains[:DEPTH] > 0).sum()) / len(relevant))
    return {name: np.array(column) for name, column in values.items()}


def _best(scores: Vectors, data: Queries, number: int) -> Rows:
    rows = np.arange(len(scores)) if data.candidates is None else data.candidates[number]
    top = min(DEPTH, len(rows))
    head = rows[np.argpartition(-scores[rows], top - 1)[:top]]
    return head[np.argsort(-scores[head], kind="stable")]


def _orders(data: Queries, rows: Sequence[Rows], score: PairScores) -> list[Rows]:
    """The order of each query's rows by the score of query and document."""
    pairs = [(data.queries[number], data.documents[row]) for number, head in enumerate(rows) for row in head.tolist()]
    parts = np.split(score(pairs), np.cumsum([len(head) for head in rows])[:-1]) if pairs else [np.empty(0) for _ in rows]
    return [np.argsort(-part, kind="stable") for part in parts]


@dataclass(frozen=True)
class Retrieval(DataSet):
    """What is predicted of a query is its main measure, 0..1."""

    queries: Queries

    task = RETRIEVAL
    measure = RANKING[0]

    @property
    def columns(self) -> Sequence[list[str]]:
        return [self.queries.queries, self.queries.documents]

    def answers(self) -> Iterator[NDArray[Any] | None]:
        yield from (np.array(sorted(relevant.items())) for relevant in self.queries.relevant)
        yield from self.queries.candidates or ()

    def run(self, system: System, tick: Tick) -> TaskResult:
        start = time.perf_counter()
        values = measures(self.queries, system.rank(self.queries))
        seconds, predicted = time.perf_counter() - start, values[self.measure]
        means = {name: float(column.mean()) for name, column in values.items()}
        samples = {name: resampled(mean, column, column, self.groups) for name, column in values.items()}
        estimates = {name: interval(means[name], drawn) for name, drawn in samples.items()}
        return TaskResult(
            measures=means, samples=samples[self.measure], predicted=predicted, sentences=sum(map(len, self.columns)),
            seconds=seconds, intervals={name: (estimate.low, estimate.high) for name, estimate in estimates.items()},
        )  # fmt: skip

    def distances(self, predicted: Array) -> Array:
        return 1 - predicted

    def example(self, predicted: Array, row: int) -> Mistake:
        relevant = self.queries.relevant[row]
        best = max(relevant, key=lambda document: relevant[document])
        given = f"nDCG@10 {100 * predicted[row]:.0f}"
        return Mistake((short(self.queries.queries[row], SHORT),), short(self.queries.documents[best], SHORT), given)
