"""The job why_not: tell why a row or a text is not among the hits of a query."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.collections.opened import OpenCollection, refuse_collection
from sbert_app.corpus.filters import in_words, matching_rows
from sbert_app.corpus.hits import DEFAULT_RANKING, MAXSIM, RANKINGS
from sbert_app.corpus.indexed import DENSE, FUSED_DEPTH, HYBRID, WORDS, IndexedCorpus, Ranking
from sbert_app.corpus.ranking.fusion import compared_order, rank_of
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.corpus.ranking.missed import BM25, MEANING, TOGETHER, WORD_BY_WORD, HidingFilter, Miss, Standing, query_words
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import choice, json_object, option, sentence, whole
from sbert_app.jobs.search.job import WAYS
from sbert_app.jobs.search.open_corpus import HINT as QUERY_HINT
from sbert_app.jobs.search.ranked_hits import different_texts, encode_query
from sbert_app.runtime import Session, Workbench
from sbert_app.vectors import Mask, Rows, Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

ROW_NUMBER = re.compile(r"(?:row\s*)?#?\s*(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})", re.IGNORECASE)
HINT = "Give the number of a row, or a text."
ROUNDING = 1e-3  # of a cosine in an approximate index
WAY_OF = {DENSE: MEANING, WORDS: BM25, HYBRID: TOGETHER, MAXSIM: WORD_BY_WORD}


@dataclass(frozen=True)
class WhyNotOptions:
    query: str = option("The search query, in any words.", sentence("query", QUERY_HINT))
    expected: str = option(
        "The row that was expected: its number in the file, counted from 1 without the header, or its text.",
        sentence("expected row or text", HINT),
    )
    top: int = option("Number of hits of the search.", whole("number of hits", 1, "hits"), 10)
    filters: dict[str, Any] | None = option("The filters of the search, as `search` takes them.", json_object("filter"), None)
    ranking: str = option(f"How its hits are ranked: {WAYS}.", choice("ranking", RANKINGS), DEFAULT_RANKING)


def why_not_job(call: Call, options: WhyNotOptions) -> Steps:
    """Tell why a row, or a text, was not found: hidden, cut, skipped, other words, a typo, or others fit better.

    Returns:
        reason and the same in one sentence (in_words), row, sentence, in_corpus (false: the most similar row is meant), rank among
        the hits, standings (by meaning, words, together, word by word: rank, score), words of the query that it shares and lacks
        and those that look like typos, filters that hide it, read and length (characters that the model reads, and all), skipped.
    """
    miss = why_not(call.bench, call.session, options)
    yield Outcome({"reason": miss.reason, "in_words": miss.in_words, **asdict(miss)}, miss.lines)


def why_not(bench: Workbench, session: Session, asked: WhyNotOptions) -> Miss:
    """Find out why the expected row, its number in the file or a text, is not among the hits. Raises UserError without a corpus."""
    indexed, filters = session.whole_corpus(), asked.filters or {}
    refuse_collection(session.get(OpenCollection), "This")
    mask = matching_rows(indexed.corpus.filterable(), filters).mask if filters else None
    encoder = bench.registry.encoder_of(indexed.model, indexed.fingerprint)
    place, in_corpus = None, True
    if number := ROW_NUMBER.fullmatch(asked.expected):
        place = indexed.corpus.find(row := int(number[1].replace(",", "")))
        if place is None:
            skipped = (skip.reason for skip in indexed.corpus.skipped if skip.row == row)
            return Miss(asked.query, row, skipped=next(skipped, "it could not be read"))
    else:
        place = indexed.corpus.find_text(asked.expected, mask)
    if place is None:
        closeness = indexed.embeddings @ unit_rows(bench.device.encode(encoder, [asked.expected], encoder.document_prompt))[0]
        in_corpus, place = False, int(closeness.argmax())
    vector, _ = encode_query(bench.device, asked.query, encoder)
    search = _Search(indexed, asked.query, vector, asked.top, filters, asked.ranking or DEFAULT_RANKING, mask)
    return replace(_miss(bench, encoder, search, place), in_corpus=in_corpus)


@dataclass(frozen=True)
class _Search:
    """The search that missed the row. As its hits, ranks count each text once, though several rows have it."""

    indexed: IndexedCorpus
    query: str
    vector: Vectors  # of the query, (dim,)
    top: int
    filters: Mapping[str, Any]
    ranking: str
    mask: Mask | None  # which rows fit the filters, (n,), None without

    @property
    def depth(self) -> int:
        """How many rows hybrid search takes from each ranking."""
        return max(self.top, FUSED_DEPTH)

    def rank(self, way: str) -> Ranking:
        indexed = self.indexed
        ranked = different_texts(lambda most: (indexed, indexed.rank(self.vector, self.query, most, self.filters, way)), self.depth)
        return ranked[1]

    def once(self, place: int) -> Mask:
        """Which rows stand for the texts that fit the filters, (n,): the first of each, but this one for its own."""
        texts = self.indexed.corpus.sentences
        fitting = range(len(texts)) if self.mask is None else np.flatnonzero(self.mask).tolist()
        stands = {texts[row]: row for row in reversed(fitting)} | {texts[place]: place}
        return np.isin(np.arange(len(texts)), list(stands.values()))

    def position(self, rows: Rows, place: int) -> int | None:
        """The rank of the text of this row among these rows, None where it is not there."""
        texts = self.indexed.corpus.sentences
        return next((rank for rank, row in enumerate(rows.tolist(), 1) if texts[row] == texts[place]), None)


def _miss(bench: Workbench, encoder: "Encoder", search: _Search, place: int) -> Miss:
    """What is to know about the row at this place of the corpus."""
    from sbert_app.models.tokens import characters_read, is_one_piece  # imports torch

    if hiding := _hiding(search, place):
        others = {column: value for column, value in search.filters.items() if column not in {each.column for each in hiding}}
        mask = matching_rows(search.indexed.corpus.filterable(), others).mask if others else None
        search = replace(search, filters=others, mask=mask)
    indexed, text = search.indexed, search.indexed.corpus.sentences[place]
    once = search.once(place)
    standings = (*_apart(search, place, once), *_fused(bench, encoder, search, place))
    read = characters_read(encoder, text, encoder.document_prompt) if indexed.passages is None else len(text)
    missed = not search.filters and _missed_by_index(search, place)
    rank = next(standing.rank for standing in standings if standing.way == WAY_OF[search.ranking])
    return Miss(
        query=search.query,
        row=int(indexed.corpus.rows[place]),
        sentence=text,
        ranking=search.ranking,
        rank=None if missed and search.ranking == DENSE else rank,
        top=search.top,
        of=int(once.sum()),
        standings=standings,
        words=query_words(search.query, text, indexed.lexical.words, read, lambda word: is_one_piece(encoder, word)),
        filters=hiding,
        missed_by_index=missed,
        weak=float(bench.examples.references(encoder).weak),
        read=read,
        length=len(text),
    )


def _hiding(search: _Search, place: int) -> tuple[HidingFilter, ...]:
    """The filters that the row does not fit."""
    if search.mask is None or search.mask[place]:
        return ()
    metadata = search.indexed.corpus.filterable()  # whole, as a column's scale is that of most of its cells
    return tuple(
        HidingFilter(column, str(metadata[column].iloc[place]), in_words({column: condition}))
        for column, condition in search.filters.items()
        if not matching_rows(metadata, {column: condition}).mask[place]
    )


def _apart(search: _Search, place: int, once: Mask) -> tuple[Standing, Standing]:
    """By meaning alone and by words alone, among all texts that fit the filters."""
    closeness, _ = search.indexed.closeness(search.vector, np.arange(len(search.indexed.corpus)))
    cosine = search.indexed.cosines(search.vector, np.array([place]))[0][0]
    words = search.indexed.lexical.scores(search.query)
    by_meaning = search.position(search.rank(DENSE).rows, place) or rank_of(closeness, place, once)  # in its order of equal rows
    by_words = rank_of(words, place, once) if words[place] > 0 else None
    return (
        Standing(MEANING, by_meaning, float(cosine)),
        Standing(BM25, by_words, float(words[place]), "" if by_words else "no word in common"),
    )


def _fused(bench: Workbench, encoder: "Encoder", search: _Search, place: int) -> tuple[Standing, Standing]:
    """By meaning and words together, and with the best rows compared word by word."""
    ranked = search.rank(HYBRID)
    fused = np.zeros(len(ranked.rows)) if ranked.fused is None else ranked.fused
    rank = search.position(ranked.rows, place)
    outside = f"not among the best {search.depth:,} by meaning nor by words"
    together = Standing(TOGETHER, rank, float(fused[rank - 1]) if rank else None, "" if rank else outside)
    place = int(ranked.rows[rank - 1]) if rank else place  # the row that stands for its text
    head = ranked.rows[:COMPARED].tolist()
    compared = head if place in head else [*head, place]
    _, passages = search.indexed.cosines(search.vector, np.array(compared))
    with bench.device.hold(short=True):
        comparison = search.indexed.compared(encoder, search.query, compared, passages.tolist())
    scores = comparison.matches.scores
    own = float(scores[head.index(place)] if place in head else scores[-1])
    order = compared_order(fused, scores[: len(head)], ranked.coverage)
    note = "" if place in head else f"not compared: only the best {COMPARED} are"
    return together, Standing(WORD_BY_WORD, search.position(ranked.rows[order], place), own, note)


def _missed_by_index(search: _Search, place: int) -> bool:
    """Whether an approximate index leaves out a row that is closer than the last one it returns."""
    if search.indexed.index.report.kind == "exact" or search.position(rows := search.rank(DENSE).rows, place):
        return False
    last = float(search.indexed.closeness(search.vector, rows)[0].min()) if len(rows) else -1.0
    return float(search.indexed.closeness(search.vector, np.array([place]))[0][0]) > last + ROUNDING


WHY_NOT = Job("why_not", Needs.CORPUS, WhyNotOptions, why_not_job, "why_not", quick=True, collections=False)
