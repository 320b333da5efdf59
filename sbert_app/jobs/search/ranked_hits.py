"""From a query to its vector, and from a ranking to hits: as they are ranked, or compared word by word."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.hits import MAXSIM, Hit, SearchResult, result_of
from sbert_app.corpus.indexed import DENSE, IndexedCorpus, Ranking
from sbert_app.corpus.indexing import EncodedSoFar
from sbert_app.corpus.ranking.fusion import best_first, compared_order
from sbert_app.corpus.ranking.late_interaction import Comparison, best_sentence
from sbert_app.corpus.ranking.maxsim import COMPARED
from sbert_app.errors import UserError
from sbert_app.runtime.device import Device
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.vectors import Vectors, unit_rows
from sbert_app.wording import plural

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

WAITED, NOTICEABLE = "waited for others", 1e-3  # stage name; seconds of waiting for the device below which it is left out
MAXSIM_STAGE = "MaxSim"
TOP = 5  # of the rows encoded so far


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


def hits_of(
    device: Device,
    query: str,
    indexed: IndexedCorpus,
    encoder: "Encoder",
    ranked: Ranking,
    top: int,
    before: dict[str, float],
    ranking: str,
) -> SearchResult:
    """The `top` hits of a ranking, for MAXSIM compared word by word. before: milliseconds of earlier stages."""
    if ranking != MAXSIM or not len(ranked.rows):
        best = ranked.taking(np.arange(min(top, len(ranked.rows))))
        return result_of(query, indexed.corpus, indexed.model, best, before, ranking, indexed.passages)
    start = time.perf_counter()
    head = ranked.rows[:COMPARED]
    with device.hold(short=True) as waited:
        comparison = Comparison(encoder, indexed, query, head.tolist(), ranked.passages[:COMPARED].tolist())
    maxsim = comparison.matches.scores
    fused = np.zeros(len(ranked.rows)) if ranked.fused is None else ranked.fused
    order = compared_order(fused, maxsim, ranked.coverage)[:top]
    stage = f"{MAXSIM_STAGE}, {len(head)} {plural(len(head), 'row', 'rows')}"
    result = result_of(query, indexed.corpus, indexed.model, ranked.taking(order), before, MAXSIM, indexed.passages)
    hits = [
        _explained(hit, comparison, int(row), float(maxsim[place])) if place < len(head) else hit
        for hit, row, place in zip(result.hits, ranked.rows[order], order.tolist(), strict=True)
    ]
    seconds = time.perf_counter() - start - waited
    return replace(result, hits=hits, milliseconds=result.milliseconds | {stage: seconds * 1e3})


def _explained(hit: Hit, comparison: Comparison, row: int, maxsim: float) -> Hit:
    matches = comparison.words(row)
    return replace(hit, maxsim=maxsim, matches=matches, best=best_sentence(hit.sentence, matches, hit.context))


def search_so_far(bench: Workbench, session: Session, query: str) -> SearchResult:
    """The closest of the rows encoded so far, by meaning. Raises UserError if nothing is being indexed, or for a blank query."""
    query = validation.sentence(query, "query", bench.settings.limits, "Type what you are looking for.")
    so_far = session.get(EncodedSoFar)
    if so_far is None:
        raise UserError("The indexing has ended. Search the corpus in the Search tab.")
    encoder = bench.registry.encoder_of(so_far.model, so_far.fingerprint)
    vector = unit_rows(bench.device.encode(encoder, [query], encoder.prompt("query")))[0]
    rows = np.flatnonzero(so_far.done)
    cosines = unit_rows(so_far.embeddings[rows]) @ vector
    order = best_first(cosines)[:TOP]
    ranking = Ranking(rows[order], cosines[order], np.full(len(order), -1), {}, len(rows))
    return result_of(query, so_far.corpus, so_far.model, ranking, {}, DENSE)
