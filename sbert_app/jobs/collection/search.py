"""Search a whole collection: its closest rows from the store, as a ranking over the texts of the hits."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sbert_app.collections.collection import SENTENCE, CollectionError, embeddings_of
from sbert_app.collections.opened import MOST_ID, OpenCollection
from sbert_app.collections.sample import corpus_of
from sbert_app.corpus.filters import facet_list
from sbert_app.corpus.hits import MAXSIM, RANKINGS, SearchResult
from sbert_app.corpus.indexed import DENSE, IndexedCorpus, Ranking
from sbert_app.corpus.ranking.fusion import z_scores
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.corpus.reader import Corpus
from sbert_app.corpus_map.placed import PlacedRows
from sbert_app.corpus_map.result import NEAREST, Projection
from sbert_app.errors import UserError
from sbert_app.jobs.search.ranked_hits import different_texts, encode_query, hits_of
from sbert_app.mapping import projection
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.vectors import Vectors, unit_rows

OFFERED = (MAXSIM, DENSE)  # ways to rank a collection, the first by default
STORE_STAGE = "store"


@dataclass(frozen=True)
class Row:
    """A row of a collection that is the query itself: its id, its text, its unit embedding, (dim,)."""

    id: int
    sentence: str
    embedding: Vectors


def check_ranking(ranking: str) -> None:
    """Raise UserError for a way to rank that needs the words of all rows."""
    if ranking not in OFFERED:
        raise UserError(
            "A collection is ranked by meaning (dense) or by meaning and then word by word (maxsim): it has no index of words. "
            "Choose one of these."
        )


def check_unchanged(opened: OpenCollection) -> None:
    """Raise CollectionError if the collection was made anew with another model since it was opened."""
    if opened.facts.fingerprint != opened.sample.fingerprint:
        raise CollectionError(f"The collection '{opened.name}' has been made anew with another model. Open it again.")


def row_of(opened: OpenCollection, row: Any) -> Row:
    """A row by its id. Raises UserError if the collection has none of it."""
    number = validation.whole_number(row, "row", 1, MOST_ID)
    with opened.reading():
        table = opened.collection.fetch([number])
    if not len(table):
        raise UserError("The collection has no such row any more. Search again.")
    return Row(number, table.column(SENTENCE)[0].as_py(), unit_rows(embeddings_of(table))[0])


def search(
    bench: Workbench,
    opened: OpenCollection,
    query: str,
    top: int,
    filters: Mapping[str, Any],
    ranking: str,
    like: Row | None = None,
) -> SearchResult:
    """The best rows of the `top` best texts. like: the row that is the query itself, which is left out. Raises UserError."""
    ranking = validation.one_of(ranking, "ranking", RANKINGS) or OFFERED[0]
    check_ranking(ranking)
    encoder = bench.registry.encoder_of(opened.sample.model, opened.sample.fingerprint)
    vector, before = encode_query(bench.device, query, encoder) if like is None else (like.embedding, {})
    depth = max(top, COMPARED) if ranking == MAXSIM else top
    hits, ranked = different_texts(lambda depth: rank(opened, vector, depth, filters, like.id if like else None), depth)
    result = hits_of(bench.device, query, hits, encoder, ranked, top, before, ranking)
    return replace(result, searched=ranked.fitting, store=opened.store(bool(filters)))


def rank(
    opened: OpenCollection, vector: Vectors, top: int, filters: Mapping[str, Any], leave_out: int | None = None
) -> tuple[IndexedCorpus, Ranking]:
    """The `top` closest rows to a unit query, (dim,), best first: the hits as a corpus, and the ranking of its rows.

    leave_out: the id of a row that is the query itself.
    """
    start = time.perf_counter()
    with opened.reading():
        check_unchanged(opened)
        scores, ids = opened.collection.search(vector[None], top + (leave_out is not None), filters or None)
        valid = (ids[0] >= 0) & (ids[0] != (-1 if leave_out is None else leave_out))
        hits = dict(zip(ids[0][valid].tolist(), scores[0][valid].tolist(), strict=True))
        table = opened.collection.fetch(list(hits))
        count, notes = opened.collection.count(), tuple(opened.collection.unread(filters) if filters else ())
    corpus = corpus_of(opened.name, table, opened.facts)
    cosines = np.array([hits[row] for row in corpus.rows.tolist()], dtype=np.float32)
    rows = np.arange(len(corpus))[:top]
    milliseconds = {STORE_STAGE: (time.perf_counter() - start) * 1e3}
    # Words are as rare as in the sample; how much of the query they cover does not lower MaxSim here, as no words are ranked.
    fused = z_scores(cosines[rows])
    ranking = Ranking(rows, cosines[rows], np.full(len(rows), -1), milliseconds, count, fused=fused, coverage=1.0, notes=notes)
    return _as_indexed(opened, corpus, embeddings_of(table)), ranking


def _as_indexed(opened: OpenCollection, corpus: Corpus, embeddings: Vectors) -> IndexedCorpus:
    """The hits with the word index of the sample, which tells how rare words are."""
    return replace(opened.sample, corpus=corpus, embeddings=embeddings, passages=None, saved_id="")


def filters(opened: OpenCollection) -> tuple[list[tuple[str, str, int]], list[str]]:
    """As `SearchService.filters`: values and counts are those of the sample, the columns those that the store can filter by."""
    corpus = opened.sample.corpus
    return facet_list(corpus.metadata[list(opened.facts.columns)]), [*opened.facts.columns, opened.facts.sentence]


def nearest_on_map(opened: OpenCollection | None, vector: Vectors, projected: Projection) -> PlacedRows | None:
    """The rows of the whole collection closest to a unit query, (dim,); None where the map shows all rows of what is open.

    A row of the sample has its point; any other gets the median point of the sampled rows nearest to it.
    """
    if opened is None or not opened.is_sampled or projected.indexed is not opened.sample:
        return None
    hits, ranking = rank(opened, vector, NEAREST, {})
    sample, rows = opened.sample, hits.corpus.rows[: len(ranking.rows)]
    embeddings = unit_rows(hits.embeddings[: len(rows)])
    nearest = np.argsort(-(embeddings @ sample.embeddings.T), axis=1, kind="stable")[:, : projection.NEIGHBOURS]
    points = projection.placed(nearest, projected.points)
    places = {row: place for place, row in enumerate(sample.corpus.rows.tolist())}
    own = np.array([places.get(row, -1) for row in rows.tolist()], dtype=np.int64)
    points[own >= 0] = projected.points[own[own >= 0]]
    return PlacedRows(hits.corpus, ranking.scores, points, own >= 0, ranking.fitting)


def open_collection_of(session: Session) -> OpenCollection | None:
    """The collection whose sample is the session's corpus."""
    return session.get(OpenCollection)


def refuse_collection(session: Session, what: str) -> None:
    """Raise UserError if a collection is open: what needs all rows in memory."""
    opened = open_collection_of(session)
    if opened is not None:
        raise UserError(f"{what} needs all rows in memory; of '{opened.name}' only a sample is. Index a file instead.")
