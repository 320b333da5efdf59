"""The job search: find the sentences of a corpus or a collection closest to a query, by meaning, by words, or both."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sbert_app.collections.collection import SENTENCE, embeddings_of
from sbert_app.collections.opened import MOST_ID, OpenCollection, refuse_collection
from sbert_app.corpus.growing import CANDIDATES, FIRST
from sbert_app.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM, RANKINGS, FormerIndex, Hit, SearchResult
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus, Ranking
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option
from sbert_app.jobs.declaring.option import choice, flag, json_object, number, option, sentence, whole
from sbert_app.jobs.search.open_corpus import HINT, OFFERED, Within, encoder_of, no_hits, query_caution
from sbert_app.jobs.search.ranked_hits import at_least, different_texts, encode_query, hits_of, reranked
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.vectors import Vectors, unit_rows
from sbert_app.wording import plural

FOR_ANSWERS = (
    "For re-ranking; with --rerank alone the bundled one, which grades likeness: better one that was trained to rank answers."
)
WAYS = "; ".join(f"{name}, {meaning}" for name, meaning in RANKINGS.items())
RERANKED = 30  # hits scored by the cross-encoder, one forward pass each
FIRST_HITS = "These are first hits: the model reads on, so their order may change."
SLOW, MOST_READ = 20_000, 1_000  # characters that two cores of a laptop read in about a second; that a model reads of a text


@dataclass(frozen=True)
class SearchOptions:
    query: str = option("The search query, in any words.", sentence("query", HINT))
    top: int = option("Number of hits, each of another text.", whole("number of hits", 1, "hits"), 10)
    filters: dict[str, Any] | None = option(
        'A JSON object: column to value, list of values, {"contains": text}, or {"from": low, "to": high}.',
        json_object("filter"), None,
    )  # fmt: skip
    hybrid: bool = option("The same as the ranking hybrid.", flag("hybrid"), False)
    rerank: bool = option(
        "Order the best 30 hits, or all that are asked for, by a cross-encoder: it reads query and text together.",
        flag("rerank"), False,
    )  # fmt: skip
    cross_encoder: str = cross_encoder_option("", FOR_ANSWERS)
    ranking: str = option(f"How hits are ranked: {WAYS}.", choice("ranking", RANKINGS), DEFAULT_RANKING)
    least: float | None = option(
        "Instead of the best hits every text with a cosine of at least this, and all its rows.", number("cosine", -1, 1), None
    )
    whole: bool = option("Read the whole file before, not only the rows that may be hits.", flag("whole"), False, endpoint=False)

    @property
    def way(self) -> str:
        """One of RANKINGS. Raises UserError for two that are asked for, and for one that has no least cosine."""
        if self.least is not None:
            if self.hybrid or self.reranker or self.ranking not in ("", DENSE, DEFAULT_RANKING):
                raise UserError(f"A least cosine goes with the ranking '{DENSE}' alone: leave the other out.")
            return DENSE
        if self.hybrid and self.ranking not in ("", HYBRID, DEFAULT_RANKING):
            raise UserError(f"Hybrid is the ranking '{HYBRID}', not '{self.ranking}': leave one of the two out.")
        return HYBRID if self.hybrid else self.ranking or DEFAULT_RANKING

    @property
    def reranker(self) -> str:
        """The cross-encoder that orders the hits, "" for none."""
        return self.cross_encoder or (DEFAULT_CROSS_ENCODER if self.rerank else "")

    @property
    def reads_all(self) -> bool:
        """Whether the whole file is read before."""
        return self.whole or self.least is not None


def search_job(call: Call, options: SearchOptions) -> Steps:
    """Search an indexed corpus by meaning.

    Returns:
        hits (of each text its best row: rank, row counted from 1, copies: how many other rows repeat the text, copy_rows: the first
        of them, score: the cosine, sentence, metadata, bm25, maxsim, cross_score, matches: words of the query and of the hit with
        their similarity and weight, best: the sentence that matches best, passage: the part of a long text that the scores are of,
        else None; both are first character and last + 1), milliseconds by stage, cautions: sentences on rows that a filter could
        not read, on a query in a language that the model does not read, and on long texts of which only the beginning is read;
        of a collection its name, kind of index and recall; of several files, row is an id, and row_name its file and row; of a
        corpus that is still being read, read: how many rows the model has read.
    """
    result = search(call.bench, call.session, options)
    lines = [f"{hit.score:.3f}  row {hit.row_name or hit.row:<6} {_shown(hit)}" for hit in result.hits]
    lines += [] if options.least is None else [result.counted(options.least)]
    collection = {"collection": asdict(result.store)} if result.store else {}
    answer = {"hits": [asdict(hit) for hit in result.hits], "milliseconds": result.milliseconds, "cautions": list(result.cautions)}
    so_far = {} if result.read is None else {"read": result.read}
    yield Outcome(answer | collection | so_far, [*(lines or [no_hits(result.ranking)]), *result.cautions])


def _shown(hit: Hit) -> str:
    """The text of a hit, of a long one the passage that matches best, and how often it is repeated."""
    text = f"… {hit.sentence[slice(*hit.passage)]}" if hit.passage else hit.sentence
    return text + (f" (and in {hit.copies:,} other {plural(hit.copies, 'row', 'rows')})" if hit.copies else "")


def search(bench: Workbench, session: Session, asked: SearchOptions) -> SearchResult:
    """Find what answers the query in the open corpus. Raises UserError without a corpus."""
    if asked.reranker:
        cross = bench.registry.pair_scorer(asked.reranker)
        wide = _ranked(bench, _opened(session), replace(asked, top=max(asked.top, RERANKED)))
        result = reranked(bench.device, wide, asked.top, cross)
    else:
        result = _ranked(bench, _opened(session), asked)
    unread = query_caution(encoder_of(bench, session), asked.query) if asked.way != WORDS else ()
    return replace(result, cautions=(*unread, *result.cautions))


def first_hits(bench: Workbench, session: Session, asked: SearchOptions) -> SearchResult | None:
    """Where `search` takes a second or more: hits among the rows that are read first, compared no further. None elsewhere."""
    opened, way = _opened(session), asked.way
    if isinstance(opened, OpenCollection):
        return None
    sentences = opened.corpus.sentences
    characters = np.mean([min(len(text), MOST_READ) for text in sentences[:: len(sentences) // 200 + 1]])
    reading = CANDIDATES if opened.growing and way != WORDS else 0
    compared = (COMPARED if way == MAXSIM else 0) + (RERANKED if asked.reranker else 0)
    if (reading + compared) * characters < SLOW:
        return None
    ranked = _ranked(bench, opened, replace(asked, hybrid=False, ranking=HYBRID if way == MAXSIM else way), most=FIRST)
    return replace(ranked, cautions=(FIRST_HITS, *ranked.cautions))


def beside(bench: Workbench, session: Session, other: str, asked: SearchOptions) -> SearchResult:
    """Search in another way, to compare: one of RANKINGS, or FORMER_MODEL by meaning under the former index."""
    if other != FORMER_MODEL:
        ranking = validation.one_of(other, "ranking", RANKINGS) or DENSE
        return _ranked(bench, _opened(session), replace(asked, ranking=ranking))
    way_out = "Choose another model and index the corpus again."
    former = session.require(FormerIndex, f"There is no other index to compare with yet. {way_out}")
    return _ranked(bench, former.indexed, replace(asked, ranking=DENSE))


def more_like(
    bench: Workbench, session: Session, row: int | None, asked: SearchOptions, passage: int | None = None
) -> SearchResult:
    """What is closest to a row, but not itself: its number in the file, of a collection its id; passage: its first character."""
    opened = _opened(session)
    most = MOST_ID if isinstance(opened, OpenCollection) else int(opened.corpus.rows[-1])
    return _ranked(bench, opened, asked, validation.whole_number(row, "row", 1, most), passage)


def _opened(session: Session) -> IndexedCorpus | OpenCollection:
    """What is searched: the open collection, else the corpus or the chosen part of it. Raises UserError without either."""
    indexed, within = session.corpus(), session.get(Within)
    return session.get(OpenCollection) or (within.indexed if within else indexed)


def _ranked(
    bench: Workbench,
    opened: IndexedCorpus | OpenCollection,
    asked: SearchOptions,
    like: int | None = None,  # a row, of a collection its id, that is itself the query, and is left out
    passage: int | None = None,  # where the part of that row begins that is the query
    most: int = CANDIDATES,  # rows that are read of a corpus that is not read yet
) -> SearchResult:
    """The best rows of the `top` best texts."""
    collection, filters = opened if isinstance(opened, OpenCollection) else None, asked.filters or {}
    if collection and asked.way not in OFFERED:
        raise UserError(
            "A collection is ranked by meaning (dense) or by meaning and then word by word (maxsim): it has no index of words. "
            "Choose one of these."
        )
    indexed = opened.sample if isinstance(opened, OpenCollection) else opened
    encoder = bench.registry.encoder_of(indexed.model, indexed.fingerprint)
    if like is None:
        query, (vector, before) = asked.query, encode_query(bench.device, asked.query, encoder)
    else:
        (query, vector), before = _row(opened, like, passage), {}
    if asked.least is not None:
        refuse_collection(collection, "A least cosine")
        return at_least(query, indexed, vector, filters, asked.least)
    depth = max(asked.top, COMPARED) if asked.way == MAXSIM else asked.top
    own = -1 if collection or like is None else indexed.corpus.index_of(like)
    way = HYBRID if asked.way == MAXSIM else asked.way

    def rank(depth: int) -> tuple[IndexedCorpus, Ranking]:
        if collection:
            return collection.closest(vector, depth, filters, like)
        ranked = indexed.rank(vector, query, depth + (own >= 0), filters, way, most)
        return indexed, ranked.taking(np.flatnonzero(ranked.rows != own))

    hits, ranked = different_texts(rank, depth)
    ranked = replace(ranked, milliseconds=before | ranked.milliseconds)
    result = hits_of(bench.device, query, hits, encoder, ranked, asked.top, asked.way)
    return replace(result, searched=ranked.fitting, store=collection.store(bool(filters))) if collection else result


def _row(opened: IndexedCorpus | OpenCollection, row: int, passage: int | None) -> tuple[str, Vectors]:
    """The text of a row or of its passage, and the unit embedding, (dim,). Raises UserError if it is not in what is open."""
    if isinstance(opened, IndexedCorpus):
        place = opened.corpus.index_of(row)
        opened.fill(np.array([place]))
        parts = opened.passages
        if parts and passage is not None and (number := parts.at(place, passage)) is not None:
            return opened.corpus.sentences[place][slice(*parts.span(number))], parts.embeddings[number]
        return opened.corpus.sentences[place], opened.embeddings[place]
    with opened.reading():
        table = opened.collection.fetch([row])
    if not len(table):
        raise UserError("The collection has no such row any more. Search again.")
    return table.column(SENTENCE)[0].as_py(), unit_rows(embeddings_of(table))[0]


SEARCH = Job("search", Needs.CORPUS, SearchOptions, search_job, "search", quick=True)
