"""Rows selected on a map: by cluster, by a column's value, inside a lasso, near a row or a query, by filters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import in_words, matching_rows
from sbert_app.corpus_map.colouring import Categories
from sbert_app.corpus_map.result import NEAREST, CorpusMap, QueryOnMap
from sbert_app.mapping.clusters import Clustering
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

QUERY_LENGTH, FILTERS_LENGTH = 60, 200  # characters in a title


@dataclass(frozen=True)
class Selection:
    """Rows (k,) in the order of their list. `how`: its title without a cluster's name, which may change.

    clustering: of the map on which they were chosen; scores (k,): the cosines of neighbours and hits. notes: which rows of a
    filtered column could not be read.
    """

    clustering: Clustering
    rows: NDArray[np.int64]
    how: str = ""
    cluster: int | None = None
    scores: Vectors | None = None
    notes: tuple[str, ...] = ()
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def title(self, corpus_map: CorpusMap) -> str:
        """What is selected, with the present name of the cluster."""
        return self.how if self.cluster is None else _counted(self.rows, f"in “{corpus_map.name_of(self.cluster)}”")


def of_cluster(corpus_map: CorpusMap, cluster: int) -> Selection:
    """The rows of a cluster; -1 means the outliers."""
    return Selection(corpus_map.clustering, corpus_map.clustering.members(cluster), cluster=cluster)


def of_value(corpus_map: CorpusMap, colours: Categories, code: Any) -> Selection:
    """The rows with one value of the column that colours the map. Raises UserError for an unknown value."""
    rows = colours.members(code)
    return Selection(corpus_map.clustering, rows, _counted(rows, f"with {colours.title} “{colours.name_of(code)}”"))


def inside_lasso(corpus_map: CorpusMap, rows: NDArray[np.int64]) -> Selection:
    return Selection(corpus_map.clustering, rows, _counted(rows, "inside the lasso"))


def matching(corpus_map: CorpusMap, filters: Mapping[str, Any]) -> Selection:
    """The rows that match filters over the corpus's columns. Raises UserError for an unknown column or a wrong bound."""
    matched = matching_rows(corpus_map.projection.indexed.corpus.filterable(), filters)
    rows = np.flatnonzero(matched.mask)
    return Selection(
        corpus_map.clustering, rows, _counted(rows, f"with {_cut(in_words(filters), FILTERS_LENGTH)}"), notes=matched.notes
    )


def near_row(corpus_map: CorpusMap, row: int) -> Selection:
    """A row followed by its nearest rows in the embedding space."""
    indexed = corpus_map.projection.indexed
    ranking = indexed.rank(indexed.embeddings[row], "", NEAREST + 1, {})
    others = ranking.rows != row
    rows = np.concatenate([[row], ranking.rows[others][:NEAREST]])
    scores = np.concatenate([[1.0], ranking.scores[others][:NEAREST]]).astype(np.float32)
    title = f"Row {indexed.corpus.row_name(int(indexed.corpus.rows[row]))} and its nearest rows, by cosine of the embeddings"
    return Selection(corpus_map.clustering, rows, title, scores=scores)


def near_query(corpus_map: CorpusMap, query: QueryOnMap) -> Selection:
    """The rows nearest to a query on the map."""
    rows = query.best()
    title = f"Nearest to “{_cut(query.query, QUERY_LENGTH)}” ({query.milliseconds:.0f} ms; the star marks its position)"
    return Selection(corpus_map.clustering, rows, title, scores=query.scores[rows])


def _counted(rows: NDArray[np.int64], how: str) -> str:
    """The number of rows and how they were chosen: "312 sentences inside the lasso"."""
    return f"{format(len(rows), ',') if len(rows) else 'No'} {plural(len(rows), 'sentence', 'sentences')} {how}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
