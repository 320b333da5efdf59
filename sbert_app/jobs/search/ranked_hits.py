"""From a query to its vector, and from a ranking to hits: as they are ranked, or compared word by word."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.corpus.hits import MAXSIM, MOST_REPEATS, MOST_ROWS, NAMED, Hit, SearchResult
from sbert_app.corpus.indexed import DENSE, IndexedCorpus, Ranking
from sbert_app.corpus.ranking.fusion import compared_order
from sbert_app.corpus.ranking.maxsim import COMPARED, best_sentence
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError
from sbert_app.runtime.device import Device
from sbert_app.vectors import Vectors, unit_rows
from sbert_app.wording import plural

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer

WAITED, NOTICEABLE = "waited for others", 1e-3  # stage name; seconds of waiting for the device below which it is left out


def encode_query(device: Device, query: str, encoder: "Encoder") -> tuple[Vectors, dict[str, float]]:
    """The query's unit vector, (dim,), and milliseconds by stage."""
    start = time.perf_counter()
    with device.hold(short=True) as waited:
        vector = unit_rows(encoder.encode([query], encoder.prompt("query")))[0]
    before = {WAITED: waited * 1e3} if waited > NOTICEABLE else {}
    return vector, before | {"encode": (time.perf_counter() - waited - start) * 1e3}


def different_texts(rank: Callable[[int], tuple[IndexedCorpus, Ranking]], wanted: int) -> tuple[IndexedCorpus, Ranking]:
    """The best row of each of the `wanted` best texts. rank: the best rows, at least so many unless there are no more."""
    depth = wanted
    while True:
        indexed, ranked = rank(depth)
        rows, sentences = ranked.rows.tolist(), indexed.corpus.sentences
        first = {sentences[row]: place for place, row in reversed(list(enumerate(rows)))}
        if len(first) >= wanted or len(rows) < depth:
            return indexed, ranked.taking(np.array(sorted(first.values())[:wanted], dtype=np.int64))
        depth *= 4


def at_least(query: str, indexed: IndexedCorpus, vector: Vectors, filters: Mapping[str, Any], least: float) -> SearchResult:
    """Every text with a cosine of at least `least`, and all its rows that fit. vector: a unit one, (dim,). Raises UserError."""
    if indexed.growing:
        raise UserError(indexed.growing.refusal)
    ranked = indexed.rank(vector, query, len(indexed.corpus), filters)
    ranked = ranked.taking(np.flatnonzero(ranked.scores >= least))
    if len(ranked.rows) > MOST_ROWS:
        count = f"{len(ranked.rows):,} rows have a cosine of at least {least:g}"
        raise UserError(f"{count}, more than the {MOST_ROWS:,} that are given. Raise it.")
    _, ranked = different_texts(lambda _: (indexed, ranked), len(ranked.rows))
    return _result(query, indexed, ranked, DENSE, MOST_ROWS)


def hits_of(
    device: Device, query: str, indexed: IndexedCorpus, encoder: "Encoder", ranked: Ranking, top: int, ranking: str
) -> SearchResult:
    """The `top` hits of a ranking, for MAXSIM compared word by word."""
    if ranking != MAXSIM or not len(ranked.rows):
        return _result(query, indexed, ranked.taking(np.arange(min(top, len(ranked.rows)))), ranking)
    start = time.perf_counter()
    head = ranked.rows[:COMPARED]
    with device.hold(short=True) as waited:
        comparison = indexed.compared(encoder, query, head.tolist(), ranked.passages[:COMPARED].tolist())
    maxsim = comparison.matches.scores
    fused = np.zeros(len(ranked.rows)) if ranked.fused is None else ranked.fused
    order = compared_order(fused, maxsim, ranked.coverage)[:top]
    stage = f"MaxSim, {len(head)} {plural(len(head), 'row', 'rows')}"
    result = _result(query, indexed, ranked.taking(order), MAXSIM)
    hits = result.hits
    for rank, place in enumerate(order.tolist()):
        if place < len(head):
            hit, matches = hits[rank], comparison.words(int(head[place]))
            sentence = best_sentence(hit.sentence, matches, hit.context)
            hits[rank] = replace(hit, maxsim=float(maxsim[place]), matches=matches, best=sentence)
    return replace(result, milliseconds=result.milliseconds | {stage: (time.perf_counter() - start - waited) * 1e3})


def reranked(device: Device, result: SearchResult, top: int, cross: "PairScorer") -> SearchResult:
    """The `top` best of these hits by a cross-encoder."""
    start = time.perf_counter()
    scores = device.scores(cross, [(result.query, hit.compared) for hit in result.hits])
    order = np.argsort(-scores, kind="stable")[:top].tolist()
    shares = [None] * len(scores) if cross.bounds is None else np.interp(scores, cross.bounds, (0, 1)).tolist()
    hits = [
        replace(result.hits[i], rank=rank, cross_score=float(scores[i]), cross_share=shares[i]) for rank, i in enumerate(order, 1)
    ]
    milliseconds = result.milliseconds | {f"cross-encoder, {len(result.hits)} pairs": (time.perf_counter() - start) * 1e3}
    return replace(result, hits=hits, milliseconds=milliseconds, cross_encoder=cross.name)


def _result(query: str, indexed: IndexedCorpus, ranked: Ranking, ranking: str, most: int | None = None) -> SearchResult:
    """The rows of a ranking as hits. most: of the rows that repeat a text, the number that is kept; None: MOST_REPEATS."""
    corpus, passages = indexed.corpus, indexed.passages
    records = corpus.metadata.iloc[ranked.rows].to_dict("records")
    bm25 = [None] * len(ranked.rows) if ranked.words is None else ranked.words.tolist()
    copies = _copies(corpus, ranked)
    columns = zip(ranked.rows, ranked.scores, ranked.passages.tolist(), bm25, records, strict=True)
    hits = [
        Hit(
            rank=place + 1,
            row=int(corpus.rows[row]),
            score=float(score),
            sentence=corpus.sentences[row],
            metadata={str(key): value for key, value in record.items()},
            title=corpus.title(row),
            row_name=corpus.row_names.get(int(corpus.rows[row]), ""),
            bm25=words,
            copies=len(copies[place]),
            copy_rows=tuple(corpus.row_label(number) for number in corpus.rows[copies[place][:NAMED]].tolist()),
            passage=passages.span(passage) if passages and passage >= 0 else None,
            context=passages.around(passage) if passages and passage >= 0 else None,
        )
        for place, (row, score, passage, words, record) in enumerate(columns)
    ]
    return SearchResult(
        query, hits, ranked.milliseconds, indexed.model, len(corpus), ranked.fitting, ranking,
        cautions=(*indexed.unread, *ranked.notes), read=indexed.growing.read if indexed.growing else None,
        repeats=_repeats(corpus, hits, copies, most or MOST_REPEATS),
    )  # fmt: skip


def _repeats(
    corpus: Corpus, hits: list[Hit], copies: list[list[int]], room: int
) -> dict[int, list[tuple[int | str, dict[Any, Any]]]]:
    """See `SearchResult.repeats`. room: the most rows."""
    repeats = dict[int, list[tuple[int | str, dict[Any, Any]]]]()
    for hit, others in zip(hits, copies, strict=True):
        if others := others[:room]:
            room -= len(others)
            labels = map(corpus.row_label, corpus.rows[others].tolist())
            repeats[hit.row] = list(zip(labels, corpus.metadata.iloc[others].to_dict("records"), strict=True))
    return repeats


def _copies(corpus: Corpus, ranked: Ranking) -> list[list[int]]:
    """For each row of a ranking the places of the other rows with its text, of those that fit the filters."""
    rows = ranked.rows.tolist()
    texts: dict[str, list[int]] = {corpus.sentences[row]: [] for row in rows}
    for other, sentence in enumerate(corpus.sentences):
        if sentence in texts and (ranked.mask is None or ranked.mask[other]):
            texts[sentence].append(other)
    return [[other for other in texts[corpus.sentences[row]] if other != row] for row in rows]
