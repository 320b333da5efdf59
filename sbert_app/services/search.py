"""Search the session's corpus: dense or hybrid, with metadata filters and optional re-ranking."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sbert_app.corpus.filters import facet_list
from sbert_app.corpus.indexed import IndexedCorpus, Ranking
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.indexing import FormerIndex
from sbert_app.vectors import Vectors, unit_rows

RERANKED = 30  # hits scored by the cross-encoder, one forward pass each
WAITED, NOTICEABLE = "waited for others", 1e-3  # stage name; seconds of waiting for the device below which it is left out
CROSS_STAGE = "cross-encoder"
WORDS_ALONE, FORMER_MODEL = "words", "former"  # what can stand beside the hits


@dataclass(frozen=True)
class Hit:
    """A hit. row: its row in the file, counted from 1 without the header; score: cosine."""

    rank: int
    row: int
    score: float
    sentence: str
    metadata: dict[str, str]
    title: str = ""  # the text of the first column, if the sentence is joined from several
    cross_score: float | None = None  # set if the hits were re-ranked


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first, and milliseconds by stage. fitting: rows that fit the filters; searched: all rows of the corpus."""

    query: str
    hits: list[Hit]
    milliseconds: dict[str, float]
    model: str
    searched: int
    fitting: int
    weak: float = -1.0  # 19 of 20 pairs written to be related score higher under this model; -1: not measured


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
        hybrid: bool = False,
        rerank: bool = False,
        cross_encoder: str = DEFAULT_CROSS_ENCODER,
    ) -> SearchResult:
        """Find the closest sentences in the session's corpus. Raises UserError without a corpus or with a blank query.

        rerank: order the best hits by the cross-encoder's score of query and sentence.
        """
        indexed = self._bench.sessions.corpus(session_id)
        query, top = self._query(query), self._top(top)
        vector, stages = self._encode(query, indexed)
        candidates = max(top, RERANKED) if rerank else top
        ranking = indexed.rank(vector, query, candidates, filters or {}, bool(hybrid))
        result = self._result(query, indexed, ranking, stages)
        return self._rerank(result, top, cross_encoder) if rerank else result

    def beside(
        self, session_id: str, other: str, query: str, top: int = 10, filters: Mapping[str, Any] | None = None
    ) -> SearchResult:
        """Search in another way, to compare: WORDS_ALONE ranks by BM25 (scores stay cosines), FORMER_MODEL by the former index."""
        indexed = self._bench.sessions.corpus(session_id)
        query, top = self._query(query), self._top(top)
        if other == FORMER_MODEL:
            former = self._bench.sessions.get(session_id).get(FormerIndex)
            if former is None:
                raise UserError("There is no other index to compare with yet. Choose another model and index the corpus again.")
            vector, stages = self._encode(query, former.indexed)
            return self._result(query, former.indexed, former.indexed.rank(vector, query, top, filters or {}, hybrid=False), stages)
        if other != WORDS_ALONE:
            raise UserError("Choose what to show beside the hits from the list.")
        vector, _ = self._encode(query, indexed)
        return self._result(query, indexed, indexed.rank_by_words(vector, query, top, filters or {}), {})

    def with_weak(self, session_id: str, result: SearchResult) -> SearchResult:
        """The result of a search in the session's corpus with the score below which its hits are weak."""
        indexed = self._bench.sessions.corpus(session_id)
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        return replace(result, weak=self._bench.examples.references(encoder).weak)

    def former_model(self, session_id: str) -> str:
        """The model with which the open corpus was indexed before, "" if it was indexed once."""
        former = self._bench.sessions.get(session_id).get(FormerIndex)
        return former.indexed.model if former else ""

    def more_like(self, session_id: str, row: int | None, top: int = 10, filters: Mapping[str, Any] | None = None) -> SearchResult:
        """Find the sentences closest to a row of the corpus (numbered as in the file), without the row itself."""
        indexed = self._bench.sessions.corpus(session_id)
        top = self._top(top)
        row = validation.whole_number(row, "row", 1, int(indexed.corpus.rows[-1]))
        matches = (indexed.corpus.rows == row).nonzero()[0]
        if not len(matches):
            raise UserError(f"Row {row:,} was skipped when the corpus was read. Choose another.")
        index = int(matches[0])
        text = indexed.corpus.sentences[index]
        ranking = indexed.rank(indexed.embeddings[index], text, top + 1, filters or {}, hybrid=False)
        others = ranking.rows != index
        ranking = replace(ranking, rows=ranking.rows[others][:top], scores=ranking.scores[others][:top])
        return self._result(text, indexed, ranking, {})

    def filters(self, session_id: str) -> tuple[list[tuple[str, str, int]], list[str]]:
        """The filters of the corpus: (column, value, rows) of columns with few values, the fewest first; and all columns."""
        corpus = self._bench.sessions.corpus(session_id).corpus
        return facet_list(corpus.metadata), list(corpus.filterable().columns)

    def first_query(self, session_id: str, query: str) -> str:
        """The query to show when a corpus is opened: the typed one; the example's if none or another example's is there."""
        first = self._bench.sessions.corpus(session_id).corpus.first_query
        return first if not query or query in self._bench.examples.queries else query

    def _rerank(self, result: SearchResult, top: int, cross_encoder: str) -> SearchResult:
        cross = self._bench.registry.pair_scorer(cross_encoder)
        start = time.perf_counter()
        scores = self._bench.device.scores(cross, [(result.query, hit.sentence) for hit in result.hits])
        order = np.argsort(-scores, kind="stable")[:top].tolist()
        hits = [replace(result.hits[i], rank=rank, cross_score=float(scores[i])) for rank, i in enumerate(order, 1)]
        stage = f"{CROSS_STAGE}, {len(result.hits)} pairs"
        return replace(result, hits=hits, milliseconds=result.milliseconds | {stage: (time.perf_counter() - start) * 1e3})

    def _encode(self, query: str, indexed: IndexedCorpus) -> tuple[Vectors, dict[str, float]]:
        """The query's unit vector under the index's model, (dim,), and milliseconds by stage."""
        start = time.perf_counter()
        encoder = self._bench.registry.encoder_of(indexed.model, indexed.fingerprint)
        with self._bench.device.hold(short=True) as waited:
            vector = unit_rows(encoder.encode([query], encoder.prompt("query")))[0]
        before = {WAITED: waited * 1e3} if waited > NOTICEABLE else {}
        return vector, before | {"encode": (time.perf_counter() - waited - start) * 1e3}

    def _query(self, query: str) -> str:
        return validation.sentence(query, "query", self._limits, "Type what you are looking for.")

    def _top(self, top: int) -> int:
        return validation.whole_number(top, "number of hits", 1, self._limits.hits)

    def _result(self, query: str, indexed: IndexedCorpus, ranking: Ranking, before: dict[str, float]) -> SearchResult:
        corpus = indexed.corpus
        records = corpus.metadata.iloc[ranking.rows].to_dict("records")
        hits = [
            Hit(
                rank=rank,
                row=int(corpus.rows[row]),
                score=float(score),
                sentence=corpus.sentences[row],
                metadata={str(key): value for key, value in record.items()},
                title=corpus.title(row),
            )
            for rank, (row, score, record) in enumerate(zip(ranking.rows, ranking.scores, records, strict=True), 1)
        ]
        return SearchResult(query, hits, before | ranking.milliseconds, indexed.model, len(corpus), ranking.fitting)
