"""Select rows of a session's map. The last selection stays in the session: a renamed cluster changes its title and its list."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import facet_list
from sbert_app.corpus_map import selection
from sbert_app.corpus_map.colouring import Categories, colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.corpus_map.selection import Selection
from sbert_app.errors import UserError
from sbert_app.mapping.quality import OUTLIER
from sbert_app.runtime.session import Session
from sbert_app.services import validation


def current_map(session: Session) -> CorpusMap:
    """The session's map. Raises UserError if the open corpus has none yet."""
    corpus_map = session.get(CorpusMap)
    if corpus_map is None:
        raise UserError("There is no map of this corpus yet. Draw it first.")
    return corpus_map


def known_cluster(corpus_map: CorpusMap, cluster: Any, lowest: int = 0) -> int:
    """A cluster's number. Raises UserError for an unknown cluster. lowest: OUTLIER if the outliers may be meant."""
    if type(cluster) is not int or not lowest <= cluster < corpus_map.clustering.count:
        raise UserError(f"There is no cluster {cluster!r}. Choose one from the list.")
    return cluster


class MapSelections:
    """All state is in the visitor's session."""

    def current(self, session: Session) -> Selection | None:
        """What is selected on the session's map."""
        selected, corpus_map = session.get(Selection), session.get(CorpusMap)
        if selected is None or corpus_map is None:
            return None
        return selected if selected.clustering is corpus_map.clustering else None  # else it is of a former map

    def clear(self, session: Session) -> None:
        session.drop(Selection)

    def rows(self, session: Session, indices: Any) -> NDArray[np.int64]:
        """Validate row indices sent by the page, for instance from a lasso: sorted, unique, invalid ones dropped."""
        total = len(current_map(session).projection.points)
        if not isinstance(indices, list) or len(indices) > total:
            raise UserError("A selection must be a list of rows of the map.")
        return np.unique(np.array([index for index in indices if type(index) is int and 0 <= index < total], dtype=np.int64))

    def inside_lasso(self, session: Session, indices: Any) -> Selection:
        rows = self.rows(session, indices)
        return self._keep(session, selection.inside_lasso(current_map(session), rows))

    def group(self, session: Session, colour: str, group: Any) -> Selection:
        """The rows of one entry of the list beside the map: a value of the column that colours it, else a cluster."""
        corpus_map = current_map(session)
        colours = colouring(corpus_map, colour)
        if isinstance(colours, Categories) and colours.of_column:
            return self._keep(session, selection.of_value(corpus_map, colours, group))
        return self._keep(session, selection.of_cluster(corpus_map, known_cluster(corpus_map, group, OUTLIER)))

    def neighbours(self, session: Session, index: Any) -> Selection:
        """A row and its nearest rows in the embedding space."""
        corpus_map = current_map(session)
        row = validation.whole_number(index, "row", 0, len(corpus_map.projection.points) - 1)
        return self._keep(session, selection.near_row(corpus_map, row))

    def hits(self, session: Session) -> Selection:
        """The rows nearest to the query. Raises UserError if the map has none."""
        corpus_map = current_map(session)
        if corpus_map.query is None:
            raise UserError("There is no query on the map. Type one.")
        return self._keep(session, selection.near_query(corpus_map, corpus_map.query))

    def matching(self, session: Session, filters: Mapping[str, Any]) -> Selection:
        """The rows that match filters over the corpus's columns. Raises UserError for an unknown column or a wrong bound."""
        return self._keep(session, selection.matching(current_map(session), filters))

    def filters(self, session: Session) -> tuple[list[tuple[str, str, int]], list[str]]:
        """What the rows can be filtered by: (column, value, rows), and all columns; both empty if there are only sentences."""
        corpus = current_map(session).projection.indexed.corpus
        return facet_list(corpus.metadata), list(corpus.filterable().columns) if len(corpus.metadata.columns) else []

    def _keep(self, session: Session, selected: Selection) -> Selection:
        session.put(selected)
        return selected
