"""The systems that rank documents and do nothing else: by words, by meaning and words, and with the best read again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.ranking.lexical import LexicalIndex, Scores
from sbert_app.corpus.ranking.maxsim import QueryTokens, TokenCache
from sbert_app.errors import UserError
from sbert_app.evaluation.metrics import Array
from sbert_app.grid.systems import BM25, HYBRID, MAXSIM, Choice, System
from sbert_app.grid.tasks.ranking import Compare, PairScores, by_both, by_maxsim, by_vectors, by_words, reranked
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.queries import Queries
from sbert_app.labelled.queries import Rows as BestRows
from sbert_app.models.engine.batching import Rows
from sbert_app.models.files.trained_for import check_one_score
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer

Tick = Callable[[], None]
Stream = Callable[..., Iterator[tuple[Rows, Vectors]]]  # sentences and a prompt -> (row numbers, vectors) batch by batch


def load_ranker(bench: Workbench, name: str, choice: Choice, tick: Tick) -> System:
    """One of RANKERS, ready to rank. Raises UserError for a model that cannot be read. tick: called between steps, may raise."""

    def score(examples: Examples) -> Array:
        raise UserError("Ranks documents only: there are none here.")

    if name == BM25:
        return System(BM25, "k1 1.2, b 0.75", "bm25", score, ranker=lambda data: by_words(data, tick))
    encoder = bench.registry.encoder(choice.model)
    stream = streamed(bench, encoder, tick)
    if name == HYBRID:
        model, identity = f"{choice.model} and BM25", f"{encoder.fingerprint} bm25 z-scores"
        return System(name, model, identity, score, ranker=lambda data: by_both(data, *embedded(data, encoder, stream), tick))
    if name == MAXSIM:

        def rank(data: Queries) -> list[BestRows]:
            return by_maxsim(data, *embedded(data, encoder, stream), _comparing(bench, encoder, data, tick), tick)

        model, identity = f"{choice.model}, BM25 and MaxSim", f"{encoder.fingerprint} bm25 z-scores maxsim"
        return System(name, model, identity, score, ranker=rank)
    cross = bench.registry.pair_scorer(choice.cross_encoder)
    check_one_score(cross)  # at once, not after the encoder has ranked all documents
    scores = pair_scores(bench, cross, tick)

    def again(data: Queries) -> list[BestRows]:
        return reranked(data, by_vectors(data, *embedded(data, encoder, stream), tick), scores)

    return System(name, f"{choice.model}, {cross.name}", f"{encoder.fingerprint} {cross.fingerprint}", score, ranker=again)


def _comparing(bench: Workbench, encoder: "Encoder", data: Queries, tick: Tick) -> Compare:
    """Compare queries with documents token by token, as Search does; the device is released after each query."""
    from sbert_app.models.tokens import own_token_vectors  # imports torch

    known = TokenCache()

    def tokens(rows: Sequence[int]) -> list[Vectors]:
        return own_token_vectors(encoder, [data.documents[row] for row in rows], encoder.document_prompt)

    def compare(index: LexicalIndex, number: int, rows: BestRows) -> Scores:
        tick()
        with bench.device.hold():
            query = QueryTokens(encoder, index, data.queries[number])
            return query.match(known.vectors(rows.tolist(), tokens)).scores

    return compare


def streamed(bench: Workbench, encoder: "Encoder", tick: Tick) -> Stream:
    """Embed with an encoder; the device is released between batches."""

    def stream(sentences: Sequence[str], prompt: str = "") -> Iterator[tuple[Rows, Vectors]]:
        for batch in bench.device.stream(encoder, sentences, prompt):
            tick()
            yield batch

    return stream


def embedded(data: Queries, encoder: "Encoder", stream: Stream) -> tuple[Vectors, Vectors]:
    """The embeddings of the queries, (Q, dim), and of the documents, (D, dim)."""
    queries = joined(len(data.queries), stream(data.queries, encoder.prompt("query")))
    return queries, joined(len(data.documents), stream(data.documents, encoder.document_prompt))


def joined(count: int, batches: Iterable[tuple[Rows, Vectors]]) -> Vectors:
    """The vectors of all batches in the order of their rows, (count, dim)."""
    parts = list(batches)
    return in_order(parts, count, parts[0][1].shape[1])


def pair_scores(bench: Workbench, cross: "PairScorer", tick: Tick) -> PairScores:
    """Score pairs of texts with a cross-encoder; the device is released between batches."""
    return lambda pairs: bench.device.scores(cross, pairs, tick).astype(np.float64)
