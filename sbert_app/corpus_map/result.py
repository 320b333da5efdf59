"""A map as the session keeps it: the points of all rows, their clusters and the names of these."""

import secrets
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import label_columns
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.query import QueryOnMap
from sbert_app.errors import UserError
from sbert_app.mapping import keywords
from sbert_app.mapping.clusters import Clustering, Labels, merged, silhouettes, with_fewer_outliers
from sbert_app.mapping.projection import Neighbours, Points
from sbert_app.vectors import Integers, Vectors

MANY, GROUPS = 25, 16  # with more clusters, near ones are merged into so many groups, whose names a map seen whole has
NAME_LENGTH = 60  # characters of a name that a visitor gives
OUTLIER_NAMES = ("outlier", "outliers")  # of a row, and of all of them


@dataclass(frozen=True)
class Projection:
    """The points of a corpus, (n, 2), before clustering. `drawn`: rows shown on screen; `method`: how the points were computed."""

    indexed: IndexedCorpus
    points: Points
    drawn: Integers
    method: str
    seconds: dict[str, float]
    near: Neighbours | None = None  # of the drawn rows, if UMAP was run
    notes: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    @cached_property
    def words(self) -> keywords.Words:
        return keywords.Words(self.indexed.corpus.sentences)


@dataclass(frozen=True)
class ModelComparison:
    """The drawn rows under another model."""

    model: str
    points: Points  # the second map, aligned with the first, (m, 2)
    kept: Vectors  # the share of each row's 10 nearest rows that stay, 0..1, (m,)
    same_label: dict[str, tuple[float, float]]  # by label column: the share of nearest rows with the same label, before and after


@dataclass(frozen=True)
class Accord:
    """Agreement of clusters with given labels. 1 is best; ARI is 0 by chance; purity rises with the number of clusters."""

    column: str
    values: int
    purity: float
    ari: float
    nmi: float


def accord(column: str, labels: Labels, gold: NDArray[np.object_]) -> Accord:
    """Compare clusters with one column, (n,) of strings. Outliers count as one more cluster."""
    from sklearn import metrics

    values, codes = np.unique(gold.astype(str), return_inverse=True)
    purity = float(metrics.cluster.contingency_matrix(codes, labels).max(axis=0).sum() / len(labels))
    ari, nmi = (float(score(codes, labels)) for score in (metrics.adjusted_rand_score, metrics.normalized_mutual_info_score))
    return Accord(column, len(values), purity, ari, nmi)


@dataclass(frozen=True)
class CorpusMap:
    """A clustered map. `made_names`, `keywords` and `central` have one entry per cluster; `given_names`: those a visitor typed."""

    projection: Projection
    uncut: Clustering  # before outliers above the accepted share were assigned
    grouping: tuple[str, int | None]  # the requested method and number of clusters
    clustering: Clustering
    made_names: list[str]  # from the keywords
    keywords: list[list[str]]
    central: list[int]
    silhouette: float | None
    silhouettes: dict[int, float]
    accords: list[Accord]
    seconds: dict[str, float] = field(default_factory=dict)
    comparison: ModelComparison | None = None
    query: QueryOnMap | None = None
    outliers: float = 0.1  # the accepted share
    given_names: dict[int, str] = field(default_factory=dict)  # by cluster
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    @classmethod
    def build(cls, projection: Projection, uncut: Clustering, outliers: float, grouping: tuple[str, int | None]) -> "CorpusMap":
        """Name and measure the clusters. outliers: the share of rows, 0..1, that may stay without a cluster."""
        clustering = with_fewer_outliers(uncut, projection.points, outliers)
        vectors, labels = projection.indexed.embeddings, clustering.labels
        words = projection.words.keywords(labels)
        silhouette, by_cluster = silhouettes(vectors, labels)
        return cls(
            projection=projection,
            uncut=uncut,
            outliers=outliers,
            grouping=grouping,
            clustering=clustering,
            made_names=keywords.names(words),
            keywords=words,
            central=keywords.central(vectors, labels),
            silhouette=silhouette,
            silhouettes=by_cluster,
            accords=[accord(c, labels, values) for c, values in label_columns(projection.indexed.corpus.metadata).items()],
        )

    def with_outliers(self, share: float) -> "CorpusMap":
        """The same clustering with another accepted share of outliers. Clusters keep the names they were given."""
        rebuilt = CorpusMap.build(self.projection, self.uncut, share, self.grouping)
        given, inside = {}, self.uncut.labels >= 0
        for cluster, name in self.given_names.items():  # only outliers change their cluster
            row = np.flatnonzero(inside & (self.clustering.labels == cluster))[0]
            given[int(rebuilt.clustering.labels[row])] = name
        return replace(rebuilt, seconds=self.seconds, comparison=self.comparison, query=self.query, given_names=given)

    def renamed(self, cluster: int, name: str) -> "CorpusMap":
        """The map with another name for a cluster; "" brings back the name made from its keywords. Raises UserError."""
        others = [self.made_names[number] for number in range(self.clustering.count) if number != cluster]
        others += [given for number, given in self.given_names.items() if number != cluster]
        if name.casefold() in {other.casefold() for other in [*others, *OUTLIER_NAMES]}:  # no kept table could tell them apart
            raise UserError(f"“{name}” belongs to another group of this map. Choose another name.")
        given = {number: other for number, other in self.given_names.items() if number != cluster}
        return replace(self, given_names=given if name in ("", self.made_names[cluster]) else given | {cluster: name})

    @cached_property
    def names(self) -> list[str]:
        """The name of each cluster: the given one, else the one made from its keywords."""
        return [self.given_names.get(number, name) for number, name in enumerate(self.made_names)]

    @property
    def model(self) -> str:
        return self.projection.indexed.model

    def name_of(self, label: int) -> str:
        return self.names[label] if label >= 0 else OUTLIER_NAMES[0]

    @cached_property
    def levels(self) -> list[Clustering]:
        """The clusters, and, of many clusters, the groups of near ones."""
        many = self.clustering.count > MANY
        return [self.clustering, *([merged(self.clustering, self.projection.points, GROUPS)] if many else [])]

    @cached_property
    def leads(self) -> list[tuple[int, int]]:
        """Of each group the cluster that names it, the largest that has no name of the visitor, if any, and how many more it stands
        for: those with such a name stand for themselves.
        """
        held = [{*self.clustering.labels[level.members(n)].tolist()} for level in self.levels[1:] for n in range(level.count)]
        leads = [min(group, key=lambda number: (number in self.given_names, number)) for group in held]
        return [(lead, len(group - {lead} - self.given_names.keys())) for group, lead in zip(held, leads, strict=True)]

    @property
    def _named(self) -> list[int]:
        """The clusters, then the one that names each group."""
        return [*range(self.clustering.count), *(cluster for cluster, _ in self.leads)]

    def centres(self) -> list[list[float]]:
        """The median point of each cluster, then that of the cluster that names each group."""
        points, clustering = self.projection.points, self.clustering
        return [np.median(points[clustering.members(number)], axis=0).tolist() for number in self._named]

    def other_centres(self) -> list[list[float]]:
        """`centres` of the drawn rows on the other model's map; the same centre where no row of a cluster is drawn."""
        if self.comparison is None:
            return []
        points, drawn = self.comparison.points, self.clustering.labels[self.projection.drawn]
        members = [np.flatnonzero(drawn == number) for number in self._named]
        return [np.median(points[m], axis=0).tolist() if len(m) else own for m, own in zip(members, self.centres(), strict=True)]

    def summary(self) -> dict[str, Any]:
        """The map as plain JSON: counts, clusters with names and keywords, quality, seconds by stage."""
        sentences, sizes = self.projection.indexed.corpus.sentences, self.clustering.sizes.tolist()
        clusters = [
            {"name": name, "size": size, "keywords": words, "sentence": sentences[row], "silhouette": self.silhouettes.get(number)}
            for number, (name, size, words, row) in enumerate(zip(self.names, sizes, self.keywords, self.central, strict=True))
        ]
        return {
            "points": len(self.projection.points),
            "clusters": clusters,
            "outliers": self.clustering.outliers,
            "how": self.clustering.how,
            "silhouette": self.silhouette,
            "accords": [asdict(accord) for accord in self.accords],
            "projection": self.projection.method,
            "notes": list(self.projection.notes),
            "seconds": self.seconds,
        }

    def places(self) -> list[dict[str, Any]]:
        """The point and the cluster of each row, -1 for an outlier; `row` as in the file."""
        corpus = self.projection.indexed.corpus
        rows, points = map(corpus.row_label, corpus.rows.tolist()), self.projection.points.round(4).astype(float).tolist()
        labels = self.clustering.labels.tolist()
        return [{"row": row, "x": x, "y": y, "cluster": c} for row, (x, y), c in zip(rows, points, labels, strict=True)]

    def records(self, rows: NDArray[np.integer]) -> list[dict[str, object]]:
        """Rows as flat records to show or save: file row, sentence, cluster, point, and the corpus's own columns."""
        corpus = self.projection.indexed.corpus
        own = (
            {
                "row": corpus.row_label(int(corpus.rows[row])),
                "sentence": corpus.sentences[row],
                "cluster": self.name_of(int(self.clustering.labels[row])),
                "map_x": round(x, 4),
                "map_y": round(y, 4),
            }
            for row, (x, y) in zip(rows.tolist(), self.projection.points[rows].tolist(), strict=True)
        )
        return list(corpus.with_metadata(own, rows))
