"""Search the session's corpus: by meaning, by words or both, with metadata filters and optional re-ranking."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.filters import facet_list
from sbert_app.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM, RANKINGS, SearchResult
from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus, Ranking
from sbert_app.corpus.indexing import FormerIndex
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.errors import UserError
from sbert_app.jobs.collection import search as in_collection
from sbert_app.jobs.collection.search import open_collection_of
from sbert_app.jobs.search.languages import corpus_caution, query_caution
from sbert_app.jobs.search.ranked_hits import different_texts, encode_query, hits_of
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import check_one_score
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer

RERANKED = 30  # hits scored by the cross-encoder, one forward pass each
CROSS_STAGE = "cross-encoder"


class SearchService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def search(
        self,
        session: Session,
        query: str,
        top: int = 10,
        filters: Mapping[str, Any] | None = None,
        ranking: str = DEFAULT_RANKING,
        rerank: bool = False,
        cross_encoder: str = DEFAULT_CROSS_ENCODER,
    ) -> SearchResult:
        """Find what answers the query in the session's corpus. Raises UserError without a corpus or with a blank query.

        ranking: one of RANKINGS. rerank: order the best hits by the cross-encoder's score of query and sentence.
        """
        searched = self._searched(session)
        query, top = self._query(query), self._top(top)
        if rerank:
            cross = self._bench.registry.pair_scorer(cross_encoder)
            check_one_score(cross)
            result = self._rerank(self._ranked(searched, query, max(top, RERANKED), filters or {}, ranking), top, cross)
        else:
            result = self._ranked(searched, query, top, filters or {}, ranking)
        unread = query_caution(self._encoder(session), query) if ranking != WORDS else ()
        return replace(result, cautions=(*unread, *result.cautions))

    def cautions(self, session: Session) -> tuple[str, ...]:
        """What to mind in searches of the session's corpus: rows that its model hardly reads."""
        return corpus_caution(self._encoder(session), session.corpus().corpus.sentences)

    def beside(
        self, session: Session, other: str, query: str, top: int = 10, filters: Mapping[str, Any] | None = None
    ) -> SearchResult:
        """Search in another way, to compare: one of RANKINGS, or FORMER_MODEL by meaning under the former index."""
        searched = self._searched(session)
        query, top = self._query(query), self._top(top)
        if other != FORMER_MODEL:
            return self._ranked(searched, query, top, filters or {}, other)
        former = session.get(FormerIndex)
        if former is None:
            raise UserError("There is no other index to compare with yet. Choose another model and index the corpus again.")
        return self._ranked(former.indexed, query, top, filters or {}, DENSE)

    def with_weak(self, session: Session, result: SearchResult) -> SearchResult:
        """The result of a search in the session's corpus with the score below which its hits are weak."""
        return replace(result, weak=self._bench.examples.references(self._encoder(session)).weak)

    def former_model(self, session: Session) -> str:
        """The model with which the open corpus was indexed before, "" if it was indexed once."""
        former = session.get(FormerIndex)
        return former.indexed.model if former else ""

    def more_like(
        self, session: Session, row: int | None, top: int = 10, filters: Mapping[str, Any] | None = None, ranking: str = DENSE
    ) -> SearchResult:
        """Find the sentences closest to a row of the corpus (numbered as in the file), without the row itself.

        Of a collection the id of the row is meant, which for its first file is that number.
        """
        indexed, top = self._searched(session), self._top(top)
        if isinstance(indexed, OpenCollection):
            own = in_collection.row_of(indexed, row)
            return in_collection.search(self._bench, indexed, own.sentence, top, filters or {}, ranking, own)
        row = validation.whole_number(row, "row", 1, int(indexed.corpus.rows[-1]))
        matches = (indexed.corpus.rows == row).nonzero()[0]
        if not len(matches):
            raise UserError(f"Row {row:,} was skipped when the corpus was read. Choose another.")
        index = int(matches[0])
        return self._ranked(indexed, indexed.corpus.sentences[index], top, filters or {}, ranking, like=index)

    def filters(self, session: Session) -> tuple[list[tuple[str, str, int]], list[str]]:
        """The filters of the corpus: (column, value, rows) of columns with few values, the fewest first; and all columns."""
        searched = self._searched(session)
        if isinstance(searched, OpenCollection):
            return in_collection.filters(searched)
        corpus = searched.corpus
        return facet_list(corpus.metadata), list(corpus.filterable().columns)

    def rankings(self, session: Session) -> Sequence[str]:
        """The ways to rank what is open, of RANKINGS."""
        return in_collection.OFFERED if isinstance(self._searched(session), OpenCollection) else tuple(RANKINGS)

    def first_query(self, session: Session, query: str) -> str:
        """The query to show when a corpus is opened: the typed one; the example's if none or another example's is there."""
        first = session.corpus().corpus.first_query
        return first if not query or query in self._bench.examples.queries else query

    def rerankers(self) -> Sequence[str]:
        """The cross-encoders at hand that may rank answers: trained to, or for what is unknown."""
        return self._bench.registry.rerankers()

    def _rerank(self, result: SearchResult, top: int, cross: "PairScorer") -> SearchResult:
        start = time.perf_counter()
        scores = self._bench.device.scores(cross, [(result.query, hit.compared) for hit in result.hits])
        order = np.argsort(-scores, kind="stable")[:top].tolist()
        shares = [None] * len(scores) if cross.bounds is None else np.interp(scores, cross.bounds, (0, 1)).tolist()
        hits = [
            replace(result.hits[i], rank=rank, cross_score=float(scores[i]), cross_share=shares[i])
            for rank, i in enumerate(order, 1)
        ]
        stage = f"{CROSS_STAGE}, {len(result.hits)} pairs"
        milliseconds = result.milliseconds | {stage: (time.perf_counter() - start) * 1e3}
        return replace(result, hits=hits, milliseconds=milliseconds, cross_encoder=cross.name)

    def _encoder(self, session: Session) -> "Encoder":
        """That of the session's corpus."""
        indexed = session.corpus()
        return self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)

    def _searched(self, session: Session) -> IndexedCorpus | OpenCollection:
        """What is searched: the open collection, else the corpus. Raises UserError without either."""
        indexed = session.corpus()
        return open_collection_of(session) or indexed

    def _ranked(
        self,
        searched: IndexedCorpus | OpenCollection,
        query: str,
        top: int,
        filters: Mapping[str, Any],
        ranking: str,
        like: int | None = None,
    ) -> SearchResult:
        """The best rows of the `top` best texts. like: the row that is the query itself, which is left out."""
        if isinstance(searched, OpenCollection):
            return in_collection.search(self._bench, searched, query, top, filters, ranking)
        ranking = validation.one_of(ranking, "ranking", RANKINGS) or DEFAULT_RANKING
        encoder = self._bench.registry.encoder_of(searched.model, searched.fingerprint)
        vector, before = encode_query(self._bench.device, query, encoder) if like is None else (searched.embeddings[like], {})
        compared = ranking == MAXSIM

        def rank(depth: int) -> tuple[IndexedCorpus, Ranking]:
            ranked = searched.rank(vector, query, depth + (like is not None), filters, HYBRID if compared else ranking)
            return searched, ranked.taking(np.flatnonzero(ranked.rows != like)) if like is not None else ranked

        _, ranked = different_texts(rank, max(top, COMPARED) if compared else top)
        return hits_of(self._bench.device, query, searched, encoder, ranked, top, before, ranking)

    def _query(self, query: str) -> str:
        return validation.sentence(query, "query", self._limits, "Type what you are looking for.")

    def _top(self, top: int) -> int:
        return validation.whole_number(top, "number of hits", 1, self._limits.hits)
