"""Search what a running indexing has encoded so far."""

import numpy as np

from sbert_app.corpus.indexed import DENSE, Ranking
from sbert_app.corpus.ranking.fusion import best_first
from sbert_app.errors import UserError
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.corpus.hits import SearchResult, result_of
from sbert_app.services.indexing.indexer import EncodedSoFar
from sbert_app.vectors import unit_rows

TOP = 5


def search_so_far(bench: Workbench, session_id: str, query: str) -> SearchResult:
    """The closest of the rows encoded so far, by meaning. Raises UserError if nothing is being indexed, or for a blank query."""
    query = validation.sentence(query, "query", bench.settings.limits, "Type what you are looking for.")
    so_far = bench.sessions.get(session_id).get(EncodedSoFar)
    if so_far is None:
        raise UserError("The indexing has ended. Search the corpus in the Search tab.")
    encoder = bench.registry.encoder_of(so_far.model, so_far.fingerprint)
    vector = unit_rows(bench.device.encode(encoder, [query], encoder.prompt("query")))[0]
    rows = np.flatnonzero(so_far.done)
    cosines = unit_rows(so_far.embeddings[rows]) @ vector
    order = best_first(cosines)[:TOP]
    ranking = Ranking(rows[order], cosines[order], np.full(len(order), -1), {}, len(rows))
    return result_of(query, so_far.corpus, so_far.model, ranking, {}, DENSE)
