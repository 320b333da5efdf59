"""The map of a corpus: drawn with a preview at once, grouped, asked about its rows. Every map is in its visitor's session."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.comparing import Comparing, compare, drawn_sentences
from sbert_app.corpus_map.projecting import Points2D, fitted_rows, project
from sbert_app.corpus_map.result import NEAREST, CorpusMap, Ground, Moved, QueryOnMap
from sbert_app.errors import UserError
from sbert_app.mapping import clusters, projection
from sbert_app.mapping.quality import OUTLIER
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.vectors import Vectors, unit_rows

AUTO = "auto"
MAP = "map"  # the name of the job: drawing, and comparing with another model
DEFAULT_OUTLIERS = 10  # per cent


@dataclass(frozen=True)
class Grouping:
    """How to group: a method of METHODS, a number of clusters or None for the best, the share of rows that may be outliers."""

    method: str = clusters.K_MEANS
    count: int | None = None
    outliers: float = DEFAULT_OUTLIERS / 100

    @classmethod
    def read(cls, method: Any = "", count: Any = AUTO, percent: Any = DEFAULT_OUTLIERS) -> "Grouping":
        """From what a page or a client sends. Raises UserError for what is none of it."""
        chosen = validation.one_of(method, "clustering method", clusters.METHODS) or clusters.K_MEANS
        if isinstance(count, str):
            count = int(count) if count.strip().isdecimal() else count.strip().lower()
        automatic = count in (AUTO, None, "", 0)
        number = None if automatic else validation.whole_number(count, "number of clusters", 2, clusters.MOST_CLUSTERS)
        return cls(chosen, number, validation.number(percent, "per cent of outliers", 0, 100) / 100)


class MapService:
    """All state is in the visitor's session."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits

    def corpus(self, session_id: str, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
        """The session's corpus; without one the example tickets, as this model sees them."""
        corpus = self._bench.sessions.get(session_id).get(IndexedCorpus)
        return corpus or self._bench.examples.indexed(CALIBRATION_EXAMPLE, self._bench.registry.encoder(model))

    def members(self, session_id: str, cluster: Any) -> NDArray[np.int64]:
        """The rows of one cluster, -1: the outliers. Raises UserError for what is no cluster."""
        clustering = self.map(session_id).clustering
        if type(cluster) is not int or not OUTLIER <= cluster < clustering.count:
            raise UserError(f"There is no cluster {cluster!r}. Choose one of the list.")
        return clustering.members(cluster)

    def preview(self, session_id: str, model: str = DEFAULT_ENCODER) -> Points2D | None:
        """The principal components of the session's corpus, in milliseconds; None where its map is drawn already."""
        indexed, current = self.corpus(session_id, model), self._bench.sessions.get(session_id).get(CorpusMap)
        if current is not None and current.ground.indexed.fingerprint == indexed.fingerprint:
            return None
        drawn = fitted_rows(len(indexed.embeddings))
        return Points2D("Preview", drawn, projection.preview(indexed.embeddings[drawn]))

    def draw(self, session_id: str, grouping: Grouping, model: str = DEFAULT_ENCODER) -> Iterator[Points2D | CorpusMap]:
        """Draw the session's corpus: a preview at once, points while they move, at the end the map, which the session keeps.

        Stopped, the points stay where they are then.
        """
        session, indexed = self._bench.sessions.get(session_id), self.corpus(session_id, model)
        stop = session.begin(MAP)
        for step in self.draw_corpus(indexed, grouping, stop):
            if stop.revoked or (isinstance(step, CorpusMap) and not session.put(step, stop)):
                return  # another corpus was opened meanwhile, or the map is drawn anew
            yield step

    def draw_corpus(self, indexed: IndexedCorpus, grouping: Grouping, stop: Stop) -> Iterator[Points2D | CorpusMap]:
        """The same for any corpus."""
        for step in project(indexed, self._bench.lines.maps, stop):
            if isinstance(step, Ground):
                yield Points2D("Grouping and naming", step.drawn, step.points[step.drawn], 1, 1)
                yield _grouped(step, grouping)
            else:
                yield step

    def stop(self, session_id: str) -> None:
        """End this session's projection after the epoch that is running."""
        self._bench.sessions.get(session_id).stop(MAP)

    def map(self, session_id: str) -> CorpusMap:
        """The session's map. Raises UserError before the first, and where another corpus was opened since."""
        current = self._bench.sessions.get(session_id).get(CorpusMap)
        if current is None:
            raise UserError("There is no map of this corpus yet. Draw it first.")
        return current

    def regroup(self, session_id: str, grouping: Grouping) -> CorpusMap:
        """Group the session's points anew; the points stay."""
        before = self.map(session_id)
        if before.grouping == (grouping.method, grouping.count):
            return self._changed(session_id, before, before.with_outliers(grouping.outliers))
        after = replace(_grouped(before.ground, grouping), moved=before.moved, query=before.query)
        return self._changed(session_id, before, after)

    def rows(self, session_id: str, places: Any) -> NDArray[np.int64]:
        """Checked places of rows on the map, such as a lasso sends them; what is no place is left out."""
        total = len(self.map(session_id).ground.points)
        if not isinstance(places, list) or len(places) > total:
            raise UserError("A selection must be a list of rows of the map.")
        chosen = np.array([place for place in places if type(place) is int and 0 <= place < total], dtype=np.int64)
        return np.unique(chosen)

    def near(self, session_id: str, place: Any) -> tuple[NDArray[np.int64], Vectors]:
        """One row and its nearest in the embedding space, by cosine, itself first: rows (k,), scores (k,)."""
        indexed = self.map(session_id).ground.indexed
        row = validation.whole_number(place, "row", 0, len(indexed.embeddings) - 1)
        ranking = indexed.rank(indexed.embeddings[row], "", NEAREST + 1, {}, hybrid=False)
        others = ranking.rows != row
        rows, scores = ranking.rows[others][:NEAREST], ranking.scores[others][:NEAREST]
        return np.concatenate([[row], rows]), np.concatenate([[1.0], scores]).astype(np.float32)

    def query(self, session_id: str, text: str) -> CorpusMap:
        """Place a query on the map and score every row by it; the map keeps it. Raises UserError for a blank one."""
        before = self.map(session_id)
        ground = before.ground
        text = validation.sentence(text, "query", self._limits, "Type what you are looking for.")
        encoder = self._bench.registry.encoder_of(ground.indexed.model, ground.indexed.fingerprint)
        start = time.perf_counter()
        vector = unit_rows(self._bench.device.encode(encoder, [text], encoder.prompt("query")))
        scores = ground.indexed.embeddings @ vector[0]
        nearest = np.argsort(-scores, kind="stable")[: projection.NEIGHBOURS]
        point = projection.placed(nearest[None], ground.points)[0]
        query = QueryOnMap(text, point, scores, (time.perf_counter() - start) * 1e3)
        return self._changed(session_id, before, replace(before, query=query))

    def forget_query(self, session_id: str) -> CorpusMap:
        """The map without the query that was placed on it."""
        before = self.map(session_id)
        return self._changed(session_id, before, replace(before, query=None))

    def drawn_already(self, session_id: str) -> bool:
        """Whether there is a map of the session's corpus."""
        return self._bench.sessions.get(session_id).get(CorpusMap) is not None

    def compare(self, session_id: str, model: str) -> Iterator[Comparing | Moved]:
        """Move the session's map to where another model sees the same rows; the last event is kept with the map."""
        session, before = self._bench.sessions.get(session_id), self.map(session_id)
        stop, encoder = session.begin(MAP), self._bench.registry.encoder(model)
        job = self._bench.embedder.job(encoder, drawn_sentences(before.ground))
        for step in compare(before.ground, encoder.name, job, self._bench.lines.maps, stop):
            if stop.revoked:
                return
            if isinstance(step, Moved):
                current = self.map(session_id)  # it may have been grouped anew meanwhile: its points are the same
                self._changed(session_id, current, replace(current, moved=step))
            yield step

    def _changed(self, session_id: str, before: CorpusMap, after: CorpusMap) -> CorpusMap:
        """Keep the changed map, unless another one was drawn or another corpus opened while it was made."""
        self._bench.sessions.get(session_id).swap(before, after)
        return after


def _grouped(ground: Ground, grouping: Grouping) -> CorpusMap:
    start = time.perf_counter()
    clustering = clusters.cluster(ground.points, ground.indexed.embeddings, grouping.method, grouping.count)
    grouped = time.perf_counter()
    result = CorpusMap.build(ground, clustering, grouping.outliers, (grouping.method, grouping.count))
    seconds = {"clusters": grouped - start, "names": time.perf_counter() - grouped}
    return replace(result, seconds=ground.seconds | seconds)
