"""Draw the map of a session's corpus, cluster it, name its clusters, place a query, compare it with another model's."""

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
from sbert_app.corpus_map.projecting import Points2D, compare, drawn_sentences, fitted_rows, project
from sbert_app.corpus_map.result import NAME_LENGTH, NEAREST, CorpusMap, ModelComparison, Projection, QueryOnMap
from sbert_app.corpus_map.selection import known_cluster
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.map import kept
from sbert_app.jobs.map.kept import current_map
from sbert_app.mapping import clusters, projection
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.runtime.examples import CALIBRATION_EXAMPLE
from sbert_app.runtime.line import Line
from sbert_app.runtime.session import Session
from sbert_app.runtime.stop import Stop
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.vectors import unit_rows

AUTO = "auto"
MAP = "map"  # job name, for drawing a map and for comparing it with another model
DEFAULT_OUTLIERS = 10  # per cent
DRAWN_AT_ONCE = 20_000  # rows; a larger corpus is drawn when its visitor asks for it


@dataclass(frozen=True)
class ClusterOptions:
    """Clustering options: a method of METHODS, number of clusters (None: chosen automatically), largest share of outliers."""

    method: str = clusters.K_MEANS
    count: int | None = None
    outliers: float = DEFAULT_OUTLIERS / 100

    @classmethod
    def read(cls, method: Any = "", count: Any = AUTO, percent: Any = DEFAULT_OUTLIERS) -> "ClusterOptions":
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


def mapped_corpus(bench: Workbench, session: Session, model: str = DEFAULT_ENCODER) -> IndexedCorpus:
    """The session's corpus, or the example tickets embedded with this model."""
    corpus = session.get(IndexedCorpus)
    return corpus or bench.examples.indexed(CALIBRATION_EXAMPLE, bench.registry.encoder(model))


def own_model(session: Session, model: str) -> str:
    """The model of the session's map, else of its corpus; without both `model`, the header's, which embeds the example."""
    current, indexed = session.get(CorpusMap), session.get(IndexedCorpus)
    return current.model if current else indexed.model if indexed else model


def other_models(bench: Workbench, session: Session, model: str) -> list[str]:
    """The encoders to compare the map with: all available ones and `model`, the header's, except the map's own."""
    own = own_model(session, model)
    return [name for name in dict.fromkeys([*bench.registry.encoders(), model]) if name != own]


def preview(bench: Workbench, session: Session, model: str = DEFAULT_ENCODER) -> Points2D | None:
    """The first two principal components of the session's corpus, computed in milliseconds; None if the session has a map."""
    if session.get(CorpusMap) is not None:
        return None
    indexed = mapped_corpus(bench, session, model)
    drawn = fitted_rows(len(indexed.embeddings))
    return Points2D("Preview", drawn, projection.preview(indexed.embeddings[drawn]))


def begins(session: Session) -> bool:
    """Whether to draw the open corpus now, without a click: once for each corpus of at most DRAWN_AT_ONCE rows."""
    indexed = session.get(IndexedCorpus)
    if indexed is None or len(indexed.corpus) > DRAWN_AT_ONCE or session.get(CorpusMap) is not None:
        return False
    return session.put_first(DrawingBegun())


def draws(session: Session) -> bool:
    """Whether the first map of the open corpus is being drawn."""
    return session.get(DrawingBegun) is not None and session.get(CorpusMap) is None


def draw(
    bench: Workbench, session: Session, grouping: ClusterOptions, model: str = DEFAULT_ENCODER
) -> Iterator[Points2D | CorpusMap]:
    """Draw the session's corpus: yields a preview, moving points, then the map, which the session keeps. Stoppable."""
    indexed = mapped_corpus(bench, session, model)
    stop = session.begin(MAP)
    session.put(DrawingBegun(), stop)
    try:
        for drawn in draw_corpus(indexed, bench.lines.maps, grouping, stop):
            step = kept.named(bench.library, session, drawn) if isinstance(drawn, CorpusMap) else drawn
            if stop.revoked or (isinstance(step, CorpusMap) and not session.put(step, stop)):
                return  # another corpus was opened, or a new drawing was started
            yield step
    finally:
        if not stop.revoked:
            session.drop(DrawingBegun)  # if there is no map, because the page was left, it may begin again


def draw_corpus(indexed: IndexedCorpus, line: Line, grouping: ClusterOptions, stop: Stop) -> Iterator[Points2D | CorpusMap]:
    """Draw any corpus, without a session."""
    for step in project(indexed, line, stop):
        if isinstance(step, Projection):
            yield Points2D("Grouping and naming", step.drawn, step.points[step.drawn], 1, 1)
            yield _clustered(step, grouping)
        else:
            yield step


def rename(bench: Workbench, session: Session, cluster: Any, name: Any) -> CorpusMap:
    """Give a cluster another name; a blank one brings back the name made from its keywords. Raises UserError."""
    before, name = current_map(session), _cluster_name(name)
    renamed = _change(session, before, lambda current: current.renamed(known_cluster(current, cluster), name))
    kept.keep_names(bench.library, session, renamed)
    return renamed


def regroup(bench: Workbench, session: Session, grouping: ClusterOptions) -> CorpusMap:
    """Cluster the session's points again without moving them."""
    before = current_map(session)
    if before.grouping == (grouping.method, grouping.count):
        return _change(session, before, lambda current: current.with_outliers(grouping.outliers))
    after = kept.named(bench.library, session, _clustered(before.projection, grouping))
    return _change(session, before, lambda now: replace(after, comparison=now.comparison, query=now.query))


def place_query(bench: Workbench, session: Session, text: str) -> CorpusMap:
    """Place a query on the map and score every row against it; the map keeps both. Raises UserError for a blank query."""
    before = current_map(session)
    projected = before.projection
    text = validation.sentence(text, "query", bench.settings.limits, "Type what you are looking for.")
    encoder = bench.registry.encoder_of(projected.indexed.model, projected.indexed.fingerprint)
    start = time.perf_counter()
    vector = unit_rows(bench.device.encode(encoder, [text], encoder.prompt("query")))
    scores = projected.indexed.embeddings @ vector[0]
    nearest = np.argsort(-scores, kind="stable")[: projection.NEIGHBOURS]
    point = projection.placed(nearest[None], projected.points)[0]
    rows = nearest_on_map(session.get(OpenCollection), vector[0], projected.indexed, projected.points, NEAREST)
    query = QueryOnMap(text, point, scores, (time.perf_counter() - start) * 1e3, rows)
    return _change(session, before, lambda current: replace(current, query=query))


def remove_query(session: Session) -> CorpusMap:
    """Remove the query from the session's map."""
    return _change(session, current_map(session), lambda current: replace(current, query=None))


def compare_model(bench: Workbench, session: Session, model: str) -> Iterator[Step[ModelComparison]]:
    """Move the session's map to another model's layout of the same rows; the result of the last step is kept with the map."""
    before = current_map(session)
    stop, encoder = session.begin(MAP), bench.registry.encoder(model)
    job = bench.embedder.job(encoder, drawn_sentences(before.projection))
    for step in compare(before.projection, encoder.name, job, bench.lines.maps, stop):
        if stop.revoked:
            return
        if step.result:
            _change(session, before, functools.partial(replace, comparison=step.result))
        yield step


def _change(session: Session, before: CorpusMap, change: Callable[[CorpusMap], CorpusMap]) -> CorpusMap:
    """Change the session's map, which may have other groups or names since `before`, but was not drawn again: UserError."""
    while (current := current_map(session)).projection is before.projection:
        if session.swap(current, after := change(current)):
            return after
    raise UserError("Meanwhile the map was drawn again. Do it once more on the new one.")


def _cluster_name(value: Any) -> str:
    """A name on one line, "" if nothing of it can be seen. Raises UserError."""
    name = " ".join(validation.line(value, "name").split())
    if len(name) > NAME_LENGTH:
        raise UserError(f"The name has {len(name):,} characters, more than {NAME_LENGTH}. Shorten it.")
    return name if any(unicodedata.category(character)[0] not in "CZ" for character in name) else ""


def _clustered(projected: Projection, grouping: ClusterOptions) -> CorpusMap:
    start = time.perf_counter()
    clustering = clusters.cluster(projected.points, projected.indexed.embeddings, grouping.method, grouping.count)
    clustered = time.perf_counter()
    result = CorpusMap.build(projected, clustering, grouping.outliers, (grouping.method, grouping.count))
    seconds = {"clusters": clustered - start, "names": time.perf_counter() - clustered}
    return replace(result, seconds=projected.seconds | seconds)
