"""Rows that are not drawn on a map, at the places that they would have."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import Corpus
from sbert_app.mapping import projection
from sbert_app.mapping.projection import Points
from sbert_app.vectors import Vectors, unit_rows


@dataclass(frozen=True)
class PlacedRows:
    """The rows of a collection nearest to a query, best first, on the map of a sample of it.

    scores: cosines, (k,); points: (k, 2); sampled: which of them are in the sample, (k,): the others have the median point of the
    sampled rows nearest to them. total: the rows of the collection.
    """

    corpus: Corpus
    scores: Vectors
    points: Points
    sampled: NDArray[np.bool_]
    total: int

    def records(self) -> list[dict[str, object]]:
        """The rows to show or save: cosine, row, sentence, point, whether in the sample, and the collection's own columns."""
        columns = self.corpus.metadata.to_dict("records")
        records = []
        for i, (score, (x, y)) in enumerate(zip(self.scores.tolist(), self.points.tolist(), strict=True)):
            record: dict[str, object] = {
                "score": round(score, 4),
                "row": self.corpus.row_label(int(self.corpus.rows[i])),
                "sentence": self.corpus.sentences[i],
                "in_sample": bool(self.sampled[i]),
                "map_x": round(x, 4),
                "map_y": round(y, 4),
            }
            records.append(record | {(f"{key}_" if key in record else str(key)): value for key, value in columns[i].items()})
        return records


def nearest_on_map(
    opened: OpenCollection | None, vector: Vectors, drawn: IndexedCorpus, drawn_points: Points, count: int
) -> PlacedRows | None:
    """The rows of the whole collection closest to a unit query, (dim,); None where the map shows all rows of what is open.

    A row of the sample has its point; any other gets the median point of the sampled rows nearest to it.
    """
    if opened is None or not opened.is_sampled or drawn is not opened.sample:
        return None
    hits, ranking = opened.closest(vector, count, {})
    sample, rows = opened.sample, hits.corpus.rows[: len(ranking.rows)]
    embeddings = unit_rows(hits.embeddings[: len(rows)])
    nearest = np.argsort(-(embeddings @ sample.embeddings.T), axis=1, kind="stable")[:, : projection.NEIGHBOURS]
    points = projection.placed(nearest, drawn_points)
    places = {row: place for place, row in enumerate(sample.corpus.rows.tolist())}
    own = np.array([places.get(row, -1) for row in rows.tolist()], dtype=np.int64)
    points[own >= 0] = drawn_points[own[own >= 0]]
    return PlacedRows(hits.corpus, ranking.scores, points, own >= 0, ranking.fitting)
