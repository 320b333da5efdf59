"""A map as the session keeps it: where every row lies, its groups and what they are called."""

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
class Ground:
    """The points of a corpus, before they are grouped. `points` (n, 2); `drawn`: the rows that a screen shows.

    `method` says in words how the points came about. `near`: the neighbours of the fitted rows, where UMAP asked for them.
    """

    indexed: IndexedCorpus
    points: Points
    drawn: NDArray[np.int64]
    method: str
    seconds: dict[str, float]
    near: Neighbours | None = None
    notes: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(4))

    @cached_property
    def words(self) -> keywords.Words:
        """The corpus's words, counted once."""
        return keywords.Words(self.indexed.corpus.sentences)


@dataclass(frozen=True)
class Moved:
    """The drawn rows under another model, and by label column the share of nearest rows with the same label before and after."""

    model: str
    drift: Drift
    same_label: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class QueryOnMap:
    """A typed query: where it would lie, (2,), and its cosine to every row, (n,)."""

    query: str
    point: NDArray[np.float32]
    scores: Vectors
    milliseconds: float

    def best(self, most: int = NEAREST) -> NDArray[np.int64]:
        return np.argsort(-self.scores, kind="stable")[:most]


@dataclass(frozen=True)
class CorpusMap:
    """A grouped map. `names`, `keywords` and `central` have one entry a cluster.

    `uncut` is the clustering before its outliers were cut to the accepted share, `grouping` the method and number asked for.
    """

    ground: Ground
    uncut: Clustering
    grouping: tuple[str, int | None]
    clustering: Clustering
    names: list[str]
    keywords: list[list[str]]
    central: list[int]
    silhouette: float | None
    silhouettes: dict[int, float]
    accords: list[Accord]
    seconds: dict[str, float] = field(default_factory=dict)
    moved: Moved | None = None
    query: QueryOnMap | None = None
    of_corpus: ClassVar[bool] = True  # dropped with the corpus

    @classmethod
    def build(cls, ground: Ground, uncut: Clustering, outliers: float, grouping: tuple[str, int | None]) -> "CorpusMap":
        """Name and measure the groups. outliers: the share of rows, 0..1, that may stay without a group."""
        clustering = with_fewer_outliers(uncut, ground.points, outliers)
        vectors, labels = ground.indexed.embeddings, clustering.labels
        words = ground.words.keywords(labels)
        silhouette, each = silhouettes(vectors, labels)
        middle = keywords.central(vectors, labels)
        return cls(
            ground=ground,
            uncut=uncut,
            grouping=grouping,
            clustering=clustering,
            names=keywords.names(words),
            keywords=words,
            central=[middle[number] for number in range(clustering.count)],
            silhouette=silhouette,
            silhouettes=each,
            accords=[accord(c, labels, values) for c, values in label_columns(ground.indexed.corpus.metadata).items()],
        )

    def with_outliers(self, share: float) -> "CorpusMap":
        """The same grouping with another share of rows accepted as outliers."""
        fresh = CorpusMap.build(self.ground, self.uncut, share, self.grouping)
        return replace(fresh, seconds=self.seconds, moved=self.moved, query=self.query)

    @property
    def model(self) -> str:
        return self.ground.indexed.model

    def name_of(self, label: int) -> str:
        return self.names[label] if label >= 0 else "outlier"

    def summary(self) -> dict[str, Any]:
        """The map as plain JSON: counts, clusters with what tells them, quality, seconds by stage."""
        sentences, sizes = self.ground.indexed.corpus.sentences, self.clustering.sizes.tolist()
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
            "points": len(self.ground.points),
            "clusters": clusters,
            "outliers": self.clustering.outliers,
            "how": self.clustering.how,
            "silhouette": self.silhouette,
            "accords": [asdict(accord) for accord in self.accords],
            "projection": self.ground.method,
            "notes": list(self.ground.notes),
            "seconds": self.seconds,
        }

    def places(self) -> list[dict[str, Any]]:
        """Each row's place and cluster, -1 for an outlier; `row` as in the file."""
        rows, points = self.ground.indexed.corpus.rows.tolist(), self.ground.points.round(4).astype(float).tolist()
        labels = self.clustering.labels.tolist()
        return [{"row": row, "x": x, "y": y, "cluster": c} for row, (x, y), c in zip(rows, points, labels, strict=True)]

    def records(self, rows: NDArray[np.integer]) -> list[dict[str, object]]:
        """Rows as flat records to show or save: file row, sentence, cluster, place, and the corpus's own columns."""
        corpus = self.ground.indexed.corpus
        metadata = corpus.metadata.iloc[rows].to_dict("records")
        records = []
        for row, record in zip(rows.tolist(), metadata, strict=True):
            x, y = self.ground.points[row].tolist()
            own: dict[str, object] = {
                "row": int(corpus.rows[row]),
                "sentence": corpus.sentences[row],
                "cluster": self.name_of(int(self.clustering.labels[row])),
                "map_x": round(x, 4),
                "map_y": round(y, 4),
            }
            records.append(own | {(f"{key}_" if key in own else str(key)): value for key, value in record.items()})
        return records
