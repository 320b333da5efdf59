"""Load the systems of an evaluation: their models, how each scores examples, and how some rank documents."""

import copy
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.ranking.fusion import Scores
from sbert_app.corpus.ranking.lexical import LexicalIndex, Tick, tf_idf_cosines, ticking
from sbert_app.corpus.ranking.maxsim import QueryTokens, TokenCache
from sbert_app.evaluation.verdict import predict
from sbert_app.explain.words import word_overlap
from sbert_app.grid import systems
from sbert_app.grid.ranking import Compare, PairScores, by_both, by_pairs, by_vectors, by_words, reranked
from sbert_app.grid.support_vectors import out_of_fold
from sbert_app.grid.systems import BM25, MAXSIM, RERANKED, Choice, Embed, Score, System
from sbert_app.labelled.example_set import Examples, trained_on
from sbert_app.labelled.queries import Queries
from sbert_app.models.words.vectors import AverageWordVectors, WordVectors, words
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Array, Rows, Vectors, in_order

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import Pair
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer


def load_system(
    bench: Workbench, name: str, choice: Choice, texts: Iterable[Sequence[str]] = (), tick: Tick = lambda: None
) -> System:
    """One of SYSTEMS, or a model by its name or folder, ready to score. Raises UserError for a model or file that cannot be read.

    texts: all sentences it will see, to read only their words' vectors from a file. tick: called between batches, may raise.
    """
    if name not in systems.SYSTEMS:
        if bench.registry.kind(name) == "encoder":
            return of_encoder(bench, bench.registry.encoder(name), name, tick)
        return of_cross_encoder(bench, bench.registry.pair_scorer(name), name, tick)
    if name == systems.CROSS:
        return of_cross_encoder(bench, bench.registry.pair_scorer(choice.cross_encoder), name, tick)
    if name == systems.TF_IDF:
        how = "rarity counted on these sentences"
        return System(name, how, how, lambda data, _: _apart(data, tf_idf_cosines(data.sentences, tick)), apart=True, words=True)
    if name == systems.OVERLAP:

        def overlaps(pairs: "list[Pair]") -> Array:
            return np.array([word_overlap(*pair) for pair in ticking(pairs, tick)])

        return System(name, "Jaccard", "Jaccard", lambda examples, _: _of_pairs(examples, overlaps))
    if name == systems.SVR:
        return System(name, systems.LEARNS, "svr", partial(out_of_fold, tick=tick))
    if name == BM25:
        return System(name, "k1 1.2, b 0.75", "bm25", ranker=lambda data: by_words(data, tick))
    if name == systems.WORD_VECTORS:
        return _word_vectors(bench, choice, texts, tick)
    encoder = bench.registry.encoder(choice.bert if name in systems.RAW else choice.model)
    if name in systems.RANKERS:
        return _ranker(bench, name, choice, encoder, tick)
    pooling = {**systems.POOLED, **systems.RAW}.get(name, encoder.layout.pooling)
    return of_encoder(bench, pooled_by(encoder, pooling), name, tick)


def pooled_by(encoder: "Encoder", pooling: str) -> "Encoder":
    """An encoder with the same weights and another pooling, one of POOLINGS."""
    if pooling == encoder.layout.pooling:
        return encoder
    other = copy.copy(encoder)
    other.layout = replace(encoder.layout, pooling=pooling)
    other.__dict__.pop("fingerprint", None)  # it was computed with the other pooling
    return other


def of_encoder(bench: Workbench, encoder: "Encoder", name: str = systems.SBERT, tick: Tick = lambda: None) -> System:
    """An encoder as a system; the device is released between batches."""
    embed, known = embedding(bench, encoder, tick), trained_on(encoder.folder)
    rank = partial(_by_cosine, encoder=encoder, embed=embed, tick=tick)
    return System(name, encoder.name, encoder.fingerprint, _cosines(embed), embed, rank, known, apart=True)


def of_cross_encoder(bench: Workbench, cross: "PairScorer", name: str = systems.CROSS, tick: Tick = lambda: None) -> System:
    """A cross-encoder or poly-encoder as a system."""
    scores = pair_scores(bench, cross, tick)
    known = trained_on(bench.registry.folder(cross.name))
    score, rank = (lambda examples, _: _of_pairs(examples, scores)), (lambda data: by_pairs(data, scores))
    return System(name, cross.name, cross.fingerprint, score, ranker=rank, trained_on=known)


def _cosines(embed: Embed) -> Score:
    return lambda examples, _: predict(examples.kind, [embed(column) for column in examples.sentences])


def _word_vectors(bench: Workbench, choice: Choice, texts: Iterable[Sequence[str]], tick: Tick) -> System:
    """The averages of a file's word vectors, or without a file of the model's input vectors."""
    if choice.word_vectors is not None:
        known = WordVectors.read(choice.word_vectors, {word for column in texts for sentence in column for word in words(sentence)})
        vectors, name = known.stream, choice.word_vectors.name
        digest = hashlib.blake2b(known.content, digest_size=8).hexdigest()
    else:
        encoder = bench.registry.encoder(choice.model)
        vectors, name = AverageWordVectors(encoder).stream, f"input vectors of {choice.model}"
        digest = f"{encoder.fingerprint} input"

    def embed(column: Sequence[str]) -> Vectors:
        parts = list(ticking(vectors(column), tick))
        return in_order(parts, len(column), parts[0][1].shape[1])

    def rank(data: Queries) -> list[Rows]:
        return by_vectors(data, embed(data.queries), embed(data.documents), tick)

    return System(systems.WORD_VECTORS, name, digest, _cosines(embed), embed, rank, apart=True)


def _apart(examples: Examples, scores: Sequence[Array]) -> Array:
    """The score of each example; for triplets that of the positive minus that of the negative."""
    return scores[0] - scores[1] if examples.kind == "triplets" else scores[0]


def _of_pairs(examples: Examples, score: "Callable[[list[Pair]], Array]") -> Array:
    """Score each example with a pair scorer, (n,), higher is closer."""
    anchor, *others = examples.sentences
    return _apart(examples, [score(list(zip(anchor, other, strict=True))) for other in others])


def _by_cosine(data: Queries, encoder: "Encoder", embed: Embed, tick: Tick) -> list[Rows]:
    return by_vectors(data, *embedded(data, encoder, embed), tick)


def _ranker(bench: Workbench, name: str, choice: Choice, encoder: "Encoder", tick: Tick) -> System:
    """One of RANKERS but BM25, ready to rank."""
    embed = embedding(bench, encoder, tick)
    if name == RERANKED:
        cross = bench.registry.pair_scorer(choice.cross_encoder)
        scores = pair_scores(bench, cross, tick)
        model, identity = f"{choice.model}, {cross.name}", f"{encoder.fingerprint} {cross.fingerprint}"
        return System(name, model, identity, ranker=lambda data: reranked(data, _by_cosine(data, encoder, embed, tick), scores))

    def rank(data: Queries) -> list[Rows]:
        compare = _comparing(bench, encoder, data, tick) if name == MAXSIM else None
        return by_both(data, *embedded(data, encoder, embed), tick, compare)

    model, identity = (", BM25 and MaxSim", " maxsim") if name == MAXSIM else (" and BM25", "")
    return System(name, f"{choice.model}{model}", f"{encoder.fingerprint} bm25 z-scores{identity}", ranker=rank)


def _comparing(bench: Workbench, encoder: "Encoder", data: Queries, tick: Tick) -> Compare:
    """Compare queries with documents token by token, as Search does; the device is released after each query."""
    from sbert_app.models.tokens import own_token_vectors  # imports torch

    cache = TokenCache()

    def tokens(rows: Sequence[int]) -> list[Vectors]:
        return own_token_vectors(encoder, [data.documents[row] for row in rows], encoder.document_prompt)

    def compare(index: LexicalIndex, number: int, rows: Rows) -> Scores:
        tick()
        with bench.device.hold():
            return QueryTokens(encoder, index, data.queries[number]).match(cache.vectors(rows.tolist(), tokens)).scores

    return compare


def embedding(bench: Workbench, encoder: "Encoder", tick: Tick) -> Embed:
    """Embed n sentences with an encoder, and a prompt if there is one, (n, dim); the device is released between batches."""

    def embed(sentences: Sequence[str], prompt: str = "") -> Vectors:
        return in_order(ticking(bench.device.stream(encoder, sentences, prompt), tick), len(sentences), encoder.dim)

    return embed


def embedded(data: Queries, encoder: "Encoder", embed: Embed) -> tuple[Vectors, Vectors]:
    """The embeddings of the queries, (Q, dim), and of the documents, (D, dim)."""
    return embed(data.queries, encoder.prompt("query")), embed(data.documents, encoder.document_prompt)


def pair_scores(bench: Workbench, cross: "PairScorer", tick: Tick) -> PairScores:
    """Score pairs of texts with a cross-encoder; the device is released between batches."""
    return lambda pairs: bench.device.scores(cross, pairs, tick).astype(np.float64)
