"""A query on a map, and the rows nearest to it that are not drawn, at the places that they would have."""

from dataclasses import dataclass

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.mapping import projection
from sbert_app.mapping.projection import Points
from sbert_app.vectors import Mask, Vectors, unit_rows

NEAREST = 10


@dataclass(frozen=True)
class PlacedRows:
    """The k rows of a collection nearest to a query, best first, on the map of a sample of it."""

    corpus: Corpus
    scores: Vectors  # cosines, (k,)
    points: Points  # (k, 2)
    sampled: Mask  # which are in the sample, (k,): others have the median point of the sampled rows nearest to them
    total: int  # the rows of the collection

    def records(self) -> list[dict[str, object]]:
        """The rows to show or save: cosine, row, sentence, point, whether in the sample, and the collection's own columns."""
        corpus, rows = self.corpus, zip(self.scores.tolist(), self.sampled.tolist(), self.points.tolist(), strict=True)
        own = (
            {
                "score": round(score, 4),
                "row": corpus.row_label(int(corpus.rows[i])),
                "sentence": corpus.sentences[i],
                "in_sample": sampled,
                "map_x": round(x, 4),
                "map_y": round(y, 4),
            }
            for i, (score, sampled, (x, y)) in enumerate(rows)
        )
        return list(corpus.with_metadata(own, slice(len(self.scores))))


@dataclass(frozen=True)
class QueryOnMap:
    """A typed query on a map of n rows."""

    query: str
    point: Vectors  # (2,)
    scores: Vectors  # its cosine to every row, (n,)
    milliseconds: float
    nearest: PlacedRows | None = None  # on the map of a sample, the rows of the whole collection that are nearest


def nearest_on_map(opened: OpenCollection | None, vector: Vectors, drawn: IndexedCorpus, drawn_points: Points) -> PlacedRows | None:
    """The rows of the whole collection closest to a unit query, (dim,); None where the map shows all rows of what is open."""
    if opened is None or not opened.is_sampled or drawn is not opened.sample:
        return None
    hits, ranking = opened.closest(vector, NEAREST, {})
    sample, rows = opened.sample, hits.corpus.rows[: len(ranking.rows)]
    embeddings = unit_rows(hits.embeddings[: len(rows)])
    nearest = np.argsort(-(embeddings @ sample.embeddings.T), axis=1, kind="stable")[:, : projection.NEIGHBOURS]
    points = projection.placed(nearest, drawn_points)
    places = {row: place for place, row in enumerate(sample.corpus.rows.tolist())}
    own = np.array([places.get(row, -1) for row in rows.tolist()], dtype=np.int64)
    points[own >= 0] = drawn_points[own[own >= 0]]
    return PlacedRows(hits.corpus, ranking.scores, points, own >= 0, ranking.fitting)
