"""Search the session's corpus: by meaning, by words or both, with metadata filters and optional re-ranking."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.corpus.filters import facet_list
from sbert_app.corpus.indexed import DENSE, HYBRID, IndexedCorpus, Ranking
from sbert_app.corpus.ranking.fusion import compared_order
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.errors import UserError
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.models.scoring import check_one_score
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.corpus.hits import DEFAULT_RANKING, FORMER_MODEL, MAXSIM, RANKINGS, Hit, SearchResult, result_of
from sbert_app.services.corpus.indexing import FormerIndex
from sbert_app.services.corpus.late_interaction import Comparison, best_sentence
from sbert_app.vectors import Vectors, unit_rows
from sbert_app.wording import plural

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly.scorer import PairScorer

RERANKED = 30  # hits scored by the cross-encoder, one forward pass each
WAITED, NOTICEABLE = "waited for others", 1e-3  # stage name; seconds of waiting for the device below which it is left out
CROSS_STAGE, MAXSIM_STAGE = "cross-encoder", "MaxSim"


class SearchService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def search(
        self,
        session_id: str,
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
        indexed = self._bench.sessions.corpus(session_id)
        query, top = self._query(query), self._top(top)
        if not rerank:
            return self._ranked(indexed, query, top, filters or {}, ranking)
        cross = self._bench.registry.pair_scorer(cross_encoder)
        check_one_score(cross)
        return self._rerank(self._ranked(indexed, query, max(top, RERANKED), filters or {}, ranking), top, cross)

    def beside(
        self, session_id: str, other: str, query: str, top: int = 10, filters: Mapping[str, Any] | None = None
    ) -> SearchResult:
        """Search in another way, to compare: one of RANKINGS, or FORMER_MODEL by meaning under the former index."""
        indexed = self._bench.sessions.corpus(session_id)
        query, top = self._query(query), self._top(top)
        if other != FORMER_MODEL:
            return self._ranked(indexed, query, top, filters or {}, other)
        former = self._bench.sessions.get(session_id).get(FormerIndex)
        if former is None:
            raise UserError("There is no other index to compare with yet. Choose another model and index the corpus again.")
        return self._ranked(former.indexed, query, top, filters or {}, DENSE)

    def with_weak(self, session_id: str, result: SearchResult) -> SearchResult:
        """The result of a search in the session's corpus with the score below which its hits are weak."""
        indexed = self._bench.sessions.corpus(session_id)
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        return replace(result, weak=self._bench.examples.references(encoder).weak)

    def former_model(self, session_id: str) -> str:
        """The model with which the open corpus was indexed before, "" if it was indexed once."""
        former = self._bench.sessions.get(session_id).get(FormerIndex)
        return former.indexed.model if former else ""

    def more_like(
        self, session_id: str, row: int | None, top: int = 10, filters: Mapping[str, Any] | None = None, ranking: str = DENSE
    ) -> SearchResult:
        """Find the sentences closest to a row of the corpus (numbered as in the file), without the row itself."""
        indexed = self._bench.sessions.corpus(session_id)
        top = self._top(top)
        row = validation.whole_number(row, "row", 1, int(indexed.corpus.rows[-1]))
        matches = (indexed.corpus.rows == row).nonzero()[0]
        if not len(matches):
            raise UserError(f"Row {row:,} was skipped when the corpus was read. Choose another.")
        index = int(matches[0])
        return self._ranked(indexed, indexed.corpus.sentences[index], top, filters or {}, ranking, like=index)

    def filters(self, session_id: str) -> tuple[list[tuple[str, str, int]], list[str]]:
        """The filters of the corpus: (column, value, rows) of columns with few values, the fewest first; and all columns."""
        corpus = self._bench.sessions.corpus(session_id).corpus
        return facet_list(corpus.metadata), list(corpus.filterable().columns)

    def first_query(self, session_id: str, query: str) -> str:
        """The query to show when a corpus is opened: the typed one; the example's if none or another example's is there."""
        first = self._bench.sessions.corpus(session_id).corpus.first_query
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

    def _ranked(
        self, indexed: IndexedCorpus, query: str, top: int, filters: Mapping[str, Any], ranking: str, like: int | None = None
    ) -> SearchResult:
        """The `top` hits. like: the row that is the query itself, which is left out."""
        ranking = validation.one_of(ranking, "ranking", RANKINGS) or DEFAULT_RANKING
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        before: dict[str, float] = {}
        if like is None:
            vector, before = self._encode(query, encoder)
        else:
            vector = indexed.embeddings[like]
        compared = ranking == MAXSIM
        depth = (max(top, COMPARED) if compared else top) + (like is not None)
        ranked = indexed.rank(vector, query, depth, filters, HYBRID if compared else ranking)
        ranked = ranked.taking(np.flatnonzero(ranked.rows != like)) if like is not None else ranked
        if not compared or not len(ranked.rows):
            best = ranked.taking(np.arange(min(top, len(ranked.rows))))
            return result_of(query, indexed.corpus, indexed.model, best, before, ranking, indexed.passages)
        return self._compared(query, indexed, encoder, ranked, top, before)

    def _compared(
        self, query: str, indexed: IndexedCorpus, encoder: "Encoder", ranked: Ranking, top: int, before: dict[str, float]
    ) -> SearchResult:
        """The best rows of a hybrid ranking, ordered by its score and MaxSim together."""
        start = time.perf_counter()
        head = ranked.rows[:COMPARED]
        with self._bench.device.hold(short=True) as waited:
            comparison = Comparison(encoder, indexed, query, head.tolist(), ranked.passages[:COMPARED].tolist())
        maxsim = comparison.matches.scores
        fused = np.zeros(len(ranked.rows)) if ranked.fused is None else ranked.fused
        order = compared_order(fused, maxsim, ranked.coverage)[:top]
        stage = f"{MAXSIM_STAGE}, {len(head)} {plural(len(head), 'row', 'rows')}"
        result = result_of(query, indexed.corpus, indexed.model, ranked.taking(order), before, MAXSIM, indexed.passages)
        hits = [
            self._explained(hit, comparison, int(row), float(maxsim[place])) if place < len(head) else hit
            for hit, row, place in zip(result.hits, ranked.rows[order], order.tolist(), strict=True)
        ]
        seconds = time.perf_counter() - start - waited
        return replace(result, hits=hits, milliseconds=result.milliseconds | {stage: seconds * 1e3})

    def _explained(self, hit: Hit, comparison: Comparison, row: int, maxsim: float) -> Hit:
        matches = comparison.words(row)
        return replace(hit, maxsim=maxsim, matches=matches, best=best_sentence(hit.sentence, matches, hit.context))

    def _encode(self, query: str, encoder: "Encoder") -> tuple[Vectors, dict[str, float]]:
        """The query's unit vector, (dim,), and milliseconds by stage."""
        start = time.perf_counter()
        with self._bench.device.hold(short=True) as waited:
            vector = unit_rows(encoder.encode([query], encoder.prompt("query")))[0]
        before = {WAITED: waited * 1e3} if waited > NOTICEABLE else {}
        return vector, before | {"encode": (time.perf_counter() - waited - start) * 1e3}

    def _query(self, query: str) -> str:
        return validation.sentence(query, "query", self._limits, "Type what you are looking for.")

    def _top(self, top: int) -> int:
        return validation.whole_number(top, "number of hits", 1, self._limits.hits)
