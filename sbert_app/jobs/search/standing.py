"""Tell why a row of the session's corpus, or a text, is not among the hits of a query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import in_words, matching_rows
from sbert_app.corpus.hits import DEFAULT_RANKING, MAXSIM, RANKINGS
from sbert_app.corpus.indexed import DENSE, FUSED_DEPTH, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.ranking.fusion import compared_order
from sbert_app.corpus.ranking.late_interaction import Comparison
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.corpus.ranking.missed import BM25, MEANING, TOGETHER, WORD_BY_WORD, HidingFilter, Miss, Standing
from sbert_app.corpus.ranking.standing import query_words, rank_of
from sbert_app.errors import UserError
from sbert_app.jobs.collection.search import refuse_collection
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.vectors import Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

ROW_NUMBER = re.compile(r"(?:row\s*)?#?\s*(\d{1,9}|\d{1,3}(?:,\d{3}){1,2})", re.IGNORECASE)
WORDS_OF_A_PART = 3  # a text of so many words is looked for inside of rows too
HINT = "Give the number of a row, or a text."
ROUNDING = 1e-3  # of a cosine in an approximate index
WAY_OF = {DENSE: MEANING, WORDS: BM25, HYBRID: TOGETHER, MAXSIM: WORD_BY_WORD}

Mask = NDArray[np.bool_] | None


@dataclass(frozen=True)
class _Search:
    """The search that missed the row. mask: which rows fit the filters, (n,), None without filters."""

    query: str
    top: int
    filters: Mapping[str, Any]
    ranking: str
    mask: Mask

    @property
    def depth(self) -> int:
        """How many rows hybrid search takes from each ranking."""
        return max(self.top, FUSED_DEPTH)


class StandingService:
    """Reads the session's corpus; keeps nothing."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def why_not(
        self,
        session: Session,
        query: str,
        expected: str,
        top: int = 10,
        filters: Mapping[str, Any] | None = None,
        ranking: str = DEFAULT_RANKING,
    ) -> Miss:
        """Find out why the expected row is not among the hits of this search. Raises UserError without a corpus.

        expected: the number of a row in the file, or a text. top, filters, ranking: as `SearchService.search` takes them.
        """
        indexed = session.corpus()
        refuse_collection(session, "This")
        query = validation.sentence(query, "query", self._limits, "Type what you are looking for.")
        expected = validation.sentence(expected, "expected row or text", self._limits, HINT)
        top = validation.whole_number(top, "number of hits", 1, self._limits.hits)
        ranking = validation.one_of(ranking, "ranking", RANKINGS) or DEFAULT_RANKING
        mask = matching_rows(indexed.corpus.filterable(), filters).mask if filters else None
        search = _Search(query, top, filters or {}, ranking, mask)
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        if number := ROW_NUMBER.fullmatch(expected):
            place = _place_of(indexed, int(number[1].replace(",", "")))
            return replace(place, query=query) if isinstance(place, Miss) else self._miss(indexed, encoder, search, place)
        known = _holding(indexed, expected, mask)
        place = self._closest(indexed, encoder, expected) if known is None else known
        return replace(self._miss(indexed, encoder, search, place), in_corpus=known is not None)

    def _closest(self, indexed: IndexedCorpus, encoder: "Encoder", text: str) -> int:
        vector = unit_rows(self._bench.device.encode(encoder, [text], encoder.document_prompt))[0]
        return int((indexed.embeddings @ vector).argmax())

    def _miss(self, indexed: IndexedCorpus, encoder: "Encoder", search: _Search, place: int) -> Miss:
        """What is to know about the row at this place of the corpus."""
        from sbert_app.models.tokens import characters_read, is_one_piece  # imports torch

        hiding = _hiding(indexed, place, search)
        if hiding:
            search = replace(search, filters={}, mask=None)
        vector = unit_rows(self._bench.device.encode(encoder, [search.query], encoder.prompt("query")))[0]
        standings = (*_apart(indexed, vector, search, place), *self._fused(indexed, encoder, vector, search, place))
        text = indexed.corpus.sentences[place]
        read = characters_read(encoder, text, encoder.document_prompt) if indexed.passages is None else len(text)
        missed = not search.filters and _missed_by_index(indexed, vector, search, place)
        rank = next(standing.rank for standing in standings if standing.way == WAY_OF[search.ranking])
        return Miss(
            query=search.query,
            row=int(indexed.corpus.rows[place]),
            sentence=text,
            ranking=search.ranking,
            rank=None if missed and search.ranking == DENSE else rank,
            top=search.top,
            of=len(indexed.corpus) if search.mask is None else int(search.mask.sum()),
            standings=standings,
            words=query_words(search.query, text, indexed.lexical.words, read, lambda word: is_one_piece(encoder, word)),
            filters=hiding,
            missed_by_index=missed,
            weak=float(self._bench.examples.references(encoder).weak),
            read=read,
            length=len(text),
        )

    def _fused(
        self, indexed: IndexedCorpus, encoder: "Encoder", vector: Vectors, search: _Search, place: int
    ) -> tuple[Standing, Standing]:
        """By meaning and words together, and with the best rows compared word by word."""
        ranked = indexed.rank(vector, search.query, search.depth, search.filters, HYBRID)
        fused = np.zeros(len(ranked.rows)) if ranked.fused is None else ranked.fused
        rank = _position(ranked.rows, place)
        outside = f"not among the best {search.depth:,} by meaning nor by words"
        together = Standing(TOGETHER, rank, float(fused[rank - 1]) if rank else None, "" if rank else outside)
        head = ranked.rows[:COMPARED].tolist()
        compared = head if place in head else [*head, place]
        _, passages = indexed.cosines(vector, np.array(compared))
        with self._bench.device.hold(short=True):
            comparison = Comparison(encoder, indexed, search.query, compared, passages.tolist())
        scores = comparison.matches.scores
        own = float(scores[head.index(place)] if place in head else scores[-1])
        order = compared_order(fused, scores[: len(head)], ranked.coverage)
        note = "" if place in head else f"not compared: only the best {COMPARED} are"
        return together, Standing(WORD_BY_WORD, _position(ranked.rows[order], place), own, note)


def _place_of(indexed: IndexedCorpus, row: int) -> int | Miss:
    """The place of a row of the file in the corpus; or why it was skipped. Raises UserError for a row that the file has not."""
    corpus = indexed.corpus
    if len(places := np.flatnonzero(corpus.rows == row)):
        return int(places[0])
    last = max(int(corpus.rows[-1]), *(skip.row for skip in corpus.skipped), 0)
    if not 1 <= row <= last:
        raise UserError(f"There is no row {row:,}: the rows of '{corpus.name}' are 1 to {last:,}.")
    return Miss("", row, skipped=next((skip.reason for skip in corpus.skipped if skip.row == row), "it could not be read"))


def _holding(indexed: IndexedCorpus, text: str, mask: Mask) -> int | None:
    """The first row with this text, else with a text that holds it, blanks and case aside; rows that fit the filters first."""
    wanted = _plain(text)
    texts = [_plain(sentence) for sentence in indexed.corpus.sentences]
    places = [place for place, other in enumerate(texts) if other == wanted]
    if not places and len(wanted.split()) >= WORDS_OF_A_PART:
        places = [place for place, other in enumerate(texts) if wanted in other]
    return next((place for place in places if mask is None or mask[place]), places[0] if places else None)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _hiding(indexed: IndexedCorpus, place: int, search: _Search) -> tuple[HidingFilter, ...]:
    """The filters that the row does not fit."""
    if search.mask is None or search.mask[place]:
        return ()
    metadata = indexed.corpus.filterable()  # whole, as a column's scale is that of most of its cells
    return tuple(
        HidingFilter(column, str(metadata[column].iloc[place]), in_words({column: condition}))
        for column, condition in search.filters.items()
        if not matching_rows(metadata, {column: condition}).mask[place]
    )


def _apart(indexed: IndexedCorpus, vector: Vectors, search: _Search, place: int) -> tuple[Standing, Standing]:
    """By meaning alone and by words alone, among all rows that fit the filters."""
    cosines, _ = indexed.cosines(vector, np.arange(len(indexed.corpus)))
    words = indexed.lexical.scores(search.query)
    closest = indexed.rank(vector, search.query, search.depth, search.filters, DENSE).rows  # in its order of equal rows
    by_meaning = _position(closest, place) or rank_of(cosines, place, search.mask)
    by_words = rank_of(words, place, search.mask) if words[place] > 0 else None
    return (
        Standing(MEANING, by_meaning, float(cosines[place])),
        Standing(BM25, by_words, float(words[place]), "" if by_words else "no word in common"),
    )


def _missed_by_index(indexed: IndexedCorpus, vector: Vectors, search: _Search, place: int) -> bool:
    """Whether an approximate index leaves out a row that is closer than the last one it returns."""
    if indexed.index.report.kind == "exact":
        return False
    rows = indexed.rank(vector, search.query, search.depth, {}, DENSE).rows
    last = float(indexed.cosines(vector, rows)[0].min()) if len(rows) else -1.0
    own = float(indexed.cosines(vector, np.array([place]))[0][0])
    return place not in rows and own > last + ROUNDING


def _position(rows: NDArray[np.int64], place: int) -> int | None:
    """The rank of a row in a ranking, None where it is not in it."""
    at = np.flatnonzero(rows == place)
    return int(at[0]) + 1 if len(at) else None
