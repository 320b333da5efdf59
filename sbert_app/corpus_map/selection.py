"""Rows selected on a map: by cluster, by a column's value, inside a lasso, near a row or a query, by filters."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from sbert_app.corpus.filters import in_words, matching_rows
from sbert_app.corpus_map.colouring import Categories, colouring
from sbert_app.corpus_map.query import NEAREST
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.mapping.clusters import OUTLIER, Clustering
from sbert_app.vectors import Integers, Vectors
from sbert_app.wording import amount, row_text, short

QUERY_LENGTH, FILTERS_LENGTH = 60, 200  # characters in a title


@dataclass(frozen=True)
class Selection:
    """Rows chosen on a map."""

    clustering: Clustering  # of that map
    rows: Integers  # (k,), in the order of their list
    how: str = ""  # the title of the list without a cluster's name, which may change; without the number of rows unless ranked
    cluster: int | None = None
    scores: Vectors | None = None  # the cosines of neighbours and hits, (k,)
    filters: Mapping[str, Any] = field(default_factory=dict)  # among whose rows it was chosen, as `matching_rows` takes them
    notes: tuple[str, ...] = ()  # which rows of a filtered column, or ends of texts, were not read
    aside: str = ""  # what stands behind the title on the map
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    def title(self, corpus_map: CorpusMap) -> str:
        """What is selected, with the present name of the cluster."""
        how = self.how if self.cluster is None else f"in “{corpus_map.name_of(self.cluster)}”"
        if self.scores is not None:
            return how
        within = f"with {short(in_words(self.filters), FILTERS_LENGTH)}" if self.filters else ""
        count = amount(len(self.rows), "sentence") if len(self.rows) else "No sentences"
        return f"{count} {', '.join(filter(None, (how, within)))}"

    def among(self, corpus_map: CorpusMap, filters: Mapping[str, Any]) -> "Selection":
        """Those of its rows that match filters, all without any. Raises UserError, as `matching` does."""
        if not filters:
            return self
        matched = matching(corpus_map, filters)
        return replace(matched, rows=self.rows[np.isin(self.rows, matched.rows)], how=self.how, cluster=self.cluster)


def known_cluster(corpus_map: CorpusMap, cluster: Any, lowest: int = 0) -> int:
    """A cluster's number. Raises UserError for an unknown cluster. lowest: OUTLIER if the outliers may be meant."""
    if type(cluster) is not int or not lowest <= cluster < corpus_map.clustering.count:
        raise UserError(f"There is no cluster {cluster!r}. Choose one from the list.")
    return cluster


def known_rows(corpus_map: CorpusMap, indices: Any) -> Integers:
    """Validate row indices sent by the page, for instance from a lasso: sorted, unique, invalid ones dropped."""
    total = len(corpus_map.projection.points)
    if not isinstance(indices, list) or len(indices) > total:
        raise UserError("A selection must be a list of rows of the map.")
    return np.unique(np.array([index for index in indices if type(index) is int and 0 <= index < total], dtype=np.int64))


def of_group(corpus_map: CorpusMap, colour: str, group: Any) -> Selection:
    """The rows of an entry of the list beside the map: a value of its column, else a cluster or OUTLIER. Raises UserError."""
    colours = colouring(corpus_map, colour)
    if isinstance(colours, Categories) and colours.of_column:
        rows = colours.members(group)
        return Selection(corpus_map.clustering, rows, f"with {colours.title} “{colours.name_of(group)}”")
    cluster = known_cluster(corpus_map, group, OUTLIER)
    return Selection(corpus_map.clustering, corpus_map.clustering.members(cluster), cluster=cluster)


def inside_lasso(corpus_map: CorpusMap, rows: Integers) -> Selection:
    return Selection(corpus_map.clustering, rows, "inside the lasso")


def matching(corpus_map: CorpusMap, filters: Mapping[str, Any]) -> Selection:
    """The rows that match filters over the corpus's columns. Raises UserError for an unknown column or a wrong bound."""
    matched = matching_rows(corpus_map.projection.indexed.corpus.filterable(), filters)
    return Selection(corpus_map.clustering, np.flatnonzero(matched.mask), filters=filters, notes=matched.notes)


def near_row(corpus_map: CorpusMap, row: int) -> Selection:
    """A row followed by its nearest rows in the embedding space."""
    indexed = corpus_map.projection.indexed
    ranking = indexed.rank(indexed.embeddings[row], "", NEAREST + 1, {})
    others = ranking.rows != row
    rows = np.concatenate([[row], ranking.rows[others][:NEAREST]])
    scores = np.concatenate([[1.0], ranking.scores[others][:NEAREST]]).astype(np.float32)
    name = row_text(indexed.corpus.row_label(int(indexed.corpus.rows[row])))
    return Selection(corpus_map.clustering, rows, f"Row {name} and its nearest rows, by cosine of the embeddings", scores=scores)


def near_query(corpus_map: CorpusMap) -> Selection:
    """The rows nearest to the query on the map. Raises UserError if there is none."""
    if (query := corpus_map.query) is None:
        raise UserError("There is no query on the map. Type one.")
    rows = np.argsort(-query.scores, kind="stable")[:NEAREST]
    text = short(query.query, QUERY_LENGTH)
    aside, indexed = f" ({query.milliseconds:.0f} ms; the star marks its position)", corpus_map.projection.indexed
    whole = " Search reads all of it." if indexed.passages else ""
    notes = (f"{long}: of such a text only the beginning is compared here.{whole}",) if (long := indexed.long_texts) else ()
    title = f"The {len(rows)} nearest to “{text}”"
    return Selection(corpus_map.clustering, rows, title, scores=query.scores[rows], notes=notes, aside=aside)
