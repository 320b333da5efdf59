"""Draw the map of a corpus, cluster it, name its clusters, search it. Each map is in its visitor's session."""

import functools
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.placed import nearest_on_map
from sbert_app.corpus_map.projecting import ComparisonProgress, Points2D, compare, drawn_sentences, fitted_rows, project
from sbert_app.corpus_map.result import NAME_LENGTH, NEAREST, CorpusMap, ModelComparison, Projection, QueryOnMap
from sbert_app.errors import UserError
from sbert_app.mapping import clusters, projection
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.services import validation
from sbert_app.services.corpus.given_names import ClusterNames
from sbert_app.services.corpus.map_selections import MapSelections, current_map, known_cluster
from sbert_app.vectors import unit_rows

AUTO = "auto"
MAP = "map"  # job name, for drawing a map and for comparing it with another model
DEFAULT_OUTLIERS = 10  # per cent
DRAWN_AT_ONCE = 20_000  # rows; a larger corpus is drawn when its visitor asks for it


@dataclass(frozen=True)
class Grouping:
    """Clustering options: a method of METHODS, number of clusters (None: chosen automatically), largest share of outliers."""

    method: str = clusters.K_MEANS
    count: int | None = None
    outliers: float = DEFAULT_OUTLIERS / 100

    @classmethod
    def read(cls, method: Any = "", count: Any = AUTO, percent: Any = DEFAULT_OUTLIERS) -> "Grouping":
        """Read the options from a page or a client. Raises UserError for an invalid value."""
        method = validation.one_of(method, "clustering method", clusters.METHODS) or clusters.K_MEANS
        if isinstance(count, str):
            count = int(count) if count.strip().isdecimal() else count.strip().lower()
        automatic = count in (AUTO, None, "", 0)
        number = None if automatic else validation.whole_number(count, "number of clusters", 2, clusters.MOST_CLUSTERS)
        return cls(method, number, validation.number(percent, "per cent of outliers", 0, 100) / 100)


@dataclass(frozen=True)
class DrawingBegun:
    """In the session while its corpus is drawn, so that opening the tab does not begin another drawing."""

    of_corpus: ClassVar[bool] = True


class MapService:
    """All state is in the visitor's session. `selections`: what is selected on its map."""

    def __init__(self, workbench: Workbench) -> None:
        self._bench = workbench
        self._limits = workbench.settings.limits
        self.selections = MapSelections()
        self._names = ClusterNames(workbench.library)

    def corpus(self, session: Session, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
        """The session's corpus, or the example tickets embedded with this model."""
        corpus = session.get(IndexedCorpus)
        return corpus or self._bench.examples.indexed(CALIBRATION_EXAMPLE, self._bench.registry.encoder(model))

    def own_model(self, session: Session, model: str = DEFAULT_ENCODER) -> str:
        """The model of the session's map, else of its corpus; without both `model`, the header's, which embeds the example."""
        current, indexed = session.get(CorpusMap), session.get(IndexedCorpus)
        return current.model if current else indexed.model if indexed else model

    def other_models(self, session: Session, model: str = DEFAULT_ENCODER) -> list[str]:
        """The encoders to compare the map with: all available ones and `model`, the header's, except the map's own."""
        own = self.own_model(session, model)
        available = self._bench.registry.encoders()
        return [name for name in dict.fromkeys([*available, model]) if name != own]

    def preview(self, session: Session, model: str = DEFAULT_ENCODER) -> Points2D | None:
        """The first two principal components of the session's corpus, computed in milliseconds; None if the session has a map."""
        if self.has_map(session):
            return None
        indexed = self.corpus(session, model)
        drawn = fitted_rows(len(indexed.embeddings))
        return Points2D("Preview", drawn, projection.preview(indexed.embeddings[drawn]))

    def begins(self, session: Session) -> bool:
        """Whether to draw the open corpus now, without a click: once for each corpus of at most DRAWN_AT_ONCE rows."""
        indexed = session.get(IndexedCorpus)
        if indexed is None or len(indexed.corpus) > DRAWN_AT_ONCE or self.has_map(session):
            return False
        return session.put_first(DrawingBegun())

    def draws(self, session: Session) -> bool:
        """Whether the first map of the open corpus is being drawn."""
        return session.get(DrawingBegun) is not None and not self.has_map(session)

    def rows_without_map(self, session: Session) -> int | None:
        """The rows of the open corpus, None without one: the example would be drawn."""
        indexed = session.get(IndexedCorpus)
        return len(indexed.corpus) if indexed else None

    def draw(self, session: Session, grouping: Grouping, model: str = DEFAULT_ENCODER) -> Iterator[Points2D | CorpusMap]:
        """Draw the session's corpus: yields a preview, moving points, then the map, which the session keeps. Stoppable."""
        indexed = self.corpus(session, model)
        stop = session.begin(MAP)
        session.put(DrawingBegun(), stop)
        try:
            for drawn in self.draw_corpus(indexed, grouping, stop):
                step = self._names.named(session, drawn) if isinstance(drawn, CorpusMap) else drawn
                if stop.revoked or (isinstance(step, CorpusMap) and not session.put(step, stop)):
                    return  # another corpus was opened, or a new drawing was started
                yield step
        finally:
            if not stop.revoked:
                session.drop(DrawingBegun)  # if there is no map, because the page was left, it may begin again

    def draw_corpus(self, indexed: IndexedCorpus, grouping: Grouping, stop: Stop) -> Iterator[Points2D | CorpusMap]:
        """Draw any corpus, without a session."""
        for step in project(indexed, self._bench.lines.maps, stop):
            if isinstance(step, Projection):
                yield Points2D("Grouping and naming", step.drawn, step.points[step.drawn], 1, 1)
                yield _clustered(step, grouping)
            else:
                yield step

    def stop(self, session: Session) -> None:
        """Stop this session's layout after the current epoch."""
        session.stop(MAP)

    def map(self, session: Session) -> CorpusMap:
        """The session's map. Raises UserError if the open corpus has none yet."""
        return current_map(session)

    def rename(self, session: Session, cluster: Any, name: Any) -> CorpusMap:
        """Give a cluster another name; a blank one brings back the name made from its keywords. Raises UserError."""
        before, name = self.map(session), _cluster_name(name)
        renamed = self._change(session, before, lambda current: current.renamed(known_cluster(current, cluster), name))
        self._names.keep(session, renamed)
        return renamed

    def regroup(self, session: Session, grouping: Grouping) -> CorpusMap:
        """Cluster the session's points again without moving them."""
        before = self.map(session)
        if before.grouping == (grouping.method, grouping.count):
            return self._change(session, before, lambda current: current.with_outliers(grouping.outliers))
        after = self._names.named(session, _clustered(before.projection, grouping))
        return self._change(session, before, lambda now: replace(after, comparison=now.comparison, query=now.query))

    def query(self, session: Session, text: str) -> CorpusMap:
        """Place a query on the map and score every row against it; the map keeps both. Raises UserError for a blank query."""
        before = self.map(session)
        projected = before.projection
        text = validation.sentence(text, "query", self._limits, "Type what you are looking for.")
        encoder = self._bench.registry.encoder_of(projected.indexed.model, projected.indexed.fingerprint)
        start = time.perf_counter()
        vector = unit_rows(self._bench.device.encode(encoder, [text], encoder.prompt("query")))
        scores = projected.indexed.embeddings @ vector[0]
        nearest = np.argsort(-scores, kind="stable")[: projection.NEIGHBOURS]
        point = projection.placed(nearest[None], projected.points)[0]
        rows = nearest_on_map(session.get(OpenCollection), vector[0], projected.indexed, projected.points, NEAREST)
        query = QueryOnMap(text, point, scores, (time.perf_counter() - start) * 1e3, rows)
        return self._change(session, before, lambda current: replace(current, query=query))

    def remove_query(self, session: Session) -> CorpusMap:
        """Remove the query from the session's map."""
        before = self.map(session)
        return self._change(session, before, lambda current: replace(current, query=None))

    def has_map(self, session: Session) -> bool:
        """Whether the session's corpus has a map."""
        return session.get(CorpusMap) is not None

    def compare(self, session: Session, model: str) -> Iterator[ComparisonProgress | ModelComparison]:
        """Move the session's map to another model's layout of the same rows; the last event is kept with the map."""
        before = self.map(session)
        stop, encoder = session.begin(MAP), self._bench.registry.encoder(model)
        job = self._bench.embedder.job(encoder, drawn_sentences(before.projection))
        for step in compare(before.projection, encoder.name, job, self._bench.lines.maps, stop):
            if stop.revoked:
                return
            if isinstance(step, ModelComparison):
                self._change(session, before, functools.partial(replace, comparison=step))
            yield step

    def _change(self, session: Session, before: CorpusMap, change: Callable[[CorpusMap], CorpusMap]) -> CorpusMap:
        """Change the session's map, which may have been grouped or named anew since `before`, but not drawn again: UserError."""
        while (current := self.map(session)).projection is before.projection:
            if session.swap(current, after := change(current)):
                return after
        raise UserError("Meanwhile the map was drawn again. Do it once more on the new one.")


def _cluster_name(value: Any) -> str:
    """A name on one line, "" if nothing of it can be seen. Raises UserError."""
    name = " ".join(validation.line(value, "name").split())
    if len(name) > NAME_LENGTH:
        raise UserError(f"The name has {len(name):,} characters, more than {NAME_LENGTH}. Shorten it.")
    return name if any(unicodedata.category(character)[0] not in "CZ" for character in name) else ""


def _clustered(projected: Projection, grouping: Grouping) -> CorpusMap:
    start = time.perf_counter()
    clustering = clusters.cluster(projected.points, projected.indexed.embeddings, grouping.method, grouping.count)
    clustered = time.perf_counter()
    result = CorpusMap.build(projected, clustering, grouping.outliers, (grouping.method, grouping.count))
    seconds = {"clusters": clustered - start, "names": time.perf_counter() - clustered}
    return replace(result, seconds=projected.seconds | seconds)
