"""Place the rows of a collection that are nearest to a query on the map of its sample."""

import numpy as np

from sbert_app.corpus_map.placed import PlacedRows
from sbert_app.corpus_map.result import NEAREST, Projection
from sbert_app.mapping import projection
from sbert_app.services.collection.opened import OpenCollection
from sbert_app.services.collection.search import rank
from sbert_app.vectors import Vectors, unit_rows


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
