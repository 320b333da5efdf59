"""A map as the session keeps it: the points of all rows, their clusters and the names of these."""

import secrets
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import label_columns
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.mapping import keywords
from sbert_app.mapping.clusters import Clustering, with_fewer_outliers
from sbert_app.mapping.drift import Drift
from sbert_app.mapping.neighbours import Neighbours
from sbert_app.mapping.projection import Points
from sbert_app.mapping.quality import Accord, accord, silhouettes
from sbert_app.vectors import Vectors

NEAREST = 10


@dataclass(frozen=True)
class Projection:
    """The points of a corpus, (n, 2), before clustering. `drawn`: rows shown on screen; `method`: how the points were computed."""

    indexed: IndexedCorpus
    points: Points
    drawn: NDArray[np.int64]
    method: str
    seconds: dict[str, float]
    near: Neighbours | None = None  # of the drawn rows, if UMAP was run
    notes: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    @cached_property
    def words(self) -> keywords.Words:
        """The word counts of the corpus."""
        return keywords.Words(self.indexed.corpus.sentences)


@dataclass(frozen=True)
class ModelComparison:
    """The drawn rows under another model; per label column the share of nearest rows with the same label, before and after."""

    model: str
    drift: Drift
    same_label: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class QueryOnMap:
    """A typed query: its point on the map, (2,), and its cosine to every row, (n,)."""

    query: str
    point: NDArray[np.float32]
    scores: Vectors
    milliseconds: float

    def best(self, most: int = NEAREST) -> NDArray[np.int64]:
        return np.argsort(-self.scores, kind="stable")[:most]


@dataclass(frozen=True)
class CorpusMap:
    """A clustered map. `names`, `keywords` and `central` have one entry per cluster."""

    projection: Projection
    uncut: Clustering  # before outliers above the accepted share were assigned
    grouping: tuple[str, int | None]  # the requested method and number of clusters
    clustering: Clustering
    names: list[str]
    keywords: list[list[str]]
    central: list[int]
    silhouette: float | None
    silhouettes: dict[int, float]
    accords: list[Accord]
    seconds: dict[str, float] = field(default_factory=dict)
    comparison: ModelComparison | None = None
    query: QueryOnMap | None = None
    outliers: float = 0.1  # the accepted share
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    @classmethod
    def build(cls, projection: Projection, uncut: Clustering, outliers: float, grouping: tuple[str, int | None]) -> "CorpusMap":
        """Name and measure the clusters. outliers: the share of rows, 0..1, that may stay without a cluster."""
        clustering = with_fewer_outliers(uncut, projection.points, outliers)
        vectors, labels = projection.indexed.embeddings, clustering.labels
        words = projection.words.keywords(labels)
        silhouette, by_cluster = silhouettes(vectors, labels)
        central = keywords.central(vectors, labels)
        return cls(
            projection=projection,
            uncut=uncut,
            outliers=outliers,
            grouping=grouping,
            clustering=clustering,
            names=keywords.names(words),
            keywords=words,
            central=[central[number] for number in range(clustering.count)],
            silhouette=silhouette,
            silhouettes=by_cluster,
            accords=[accord(c, labels, values) for c, values in label_columns(projection.indexed.corpus.metadata).items()],
        )

    def with_outliers(self, share: float) -> "CorpusMap":
        """The same clustering with another accepted share of outliers."""
        rebuilt = CorpusMap.build(self.projection, self.uncut, share, self.grouping)
        return replace(rebuilt, seconds=self.seconds, comparison=self.comparison, query=self.query)

    @property
    def model(self) -> str:
        return self.projection.indexed.model

    def name_of(self, label: int) -> str:
        return self.names[label] if label >= 0 else "outlier"

    def summary(self) -> dict[str, Any]:
        """The map as plain JSON: counts, clusters with names and keywords, quality, seconds by stage."""
        sentences, sizes = self.projection.indexed.corpus.sentences, self.clustering.sizes.tolist()
        clusters = [
            {
                "name": name,
                "size": sizes[number],
                "keywords": self.keywords[number],
                "sentence": sentences[self.central[number]],
                "silhouette": self.silhouettes.get(number),
            }
            for number, name in enumerate(self.names)
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
        rows, points = self.projection.indexed.corpus.rows.tolist(), self.projection.points.round(4).astype(float).tolist()
        labels = self.clustering.labels.tolist()
        return [{"row": row, "x": x, "y": y, "cluster": c} for row, (x, y), c in zip(rows, points, labels, strict=True)]

    def records(self, rows: NDArray[np.integer]) -> list[dict[str, object]]:
        """Rows as flat records to show or save: file row, sentence, cluster, point, and the corpus's own columns."""
        corpus = self.projection.indexed.corpus
        metadata = corpus.metadata.iloc[rows].to_dict("records")
        records = []
        for row, values in zip(rows.tolist(), metadata, strict=True):
            x, y = self.projection.points[row].tolist()
            record: dict[str, object] = {
                "row": int(corpus.rows[row]),
                "sentence": corpus.sentences[row],
                "cluster": self.name_of(int(self.clustering.labels[row])),
                "map_x": round(x, 4),
                "map_y": round(y, 4),
            }
            records.append(record | {(f"{key}_" if key in record else str(key)): value for key, value in values.items()})
        return records
