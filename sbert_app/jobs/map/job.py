"""The job cluster_map: draw a corpus in two dimensions and cluster it; name a cluster, place a query, compare another model."""

import functools
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus_map.colouring import by_cluster
from sbert_app.corpus_map.projecting import Points2D, compare, project
from sbert_app.corpus_map.query import QueryOnMap, nearest_on_map
from sbert_app.corpus_map.result import NAME_LENGTH, CorpusMap, ModelComparison, Projection
from sbert_app.corpus_map.selection import known_cluster
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import choice, flag, number, option, output, text
from sbert_app.jobs.map import kept
from sbert_app.jobs.map.kept import DrawingBegun, current_map, mapped_corpus
from sbert_app.mapping import clusters, projection
from sbert_app.mapping.clusters import K_MEANS, METHODS
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.step import Step
from sbert_app.vectors import unit_rows

AUTO = "auto"
MAP = "map"  # job name, for drawing a map and for comparing it with another model
DEFAULT_OUTLIERS = 10  # per cent


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


def draw(
    bench: Workbench, session: Session, grouping: ClusterOptions, model: str = DEFAULT_ENCODER
) -> Iterator[Points2D | CorpusMap]:
    """Draw the session's corpus: yields a preview, moving points, then the map, which the session keeps. Stoppable."""
    indexed = mapped_corpus(bench, session, model)
    if indexed.growing:
        raise UserError(indexed.growing.refusal)
    stop = session.begin(MAP)
    session.put(DrawingBegun(), stop)
    try:
        for step in project(indexed, bench.lines.maps, stop):
            if stop.revoked:
                return  # another corpus was opened, or a new drawing was started
            if isinstance(step, Points2D):
                yield step
                continue
            yield Points2D("Grouping and naming", step.drawn, step.points[step.drawn], 1, 1)
            corpus_map = kept.named(bench.library, session, _clustered(step, grouping))
            if session.put(corpus_map, stop):
                yield corpus_map
    finally:
        if not stop.revoked:
            session.drop(DrawingBegun)  # if there is no map, because the page was left, it may begin again


def rename(bench: Workbench, session: Session, cluster: Any, name: Any) -> CorpusMap:
    """Give a cluster another name, on one line; one of which nothing can be seen brings back that of its keywords. UserError."""
    before, name = current_map(session), " ".join(validation.line(name, "name").split())
    if len(name) > NAME_LENGTH:
        raise UserError(f"The name has {len(name):,} characters, more than {NAME_LENGTH}. Shorten it.")
    if all(unicodedata.category(character)[0] in "CZ" for character in name):
        name = ""
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
    rows = nearest_on_map(session.get(OpenCollection), vector[0], projected.indexed, projected.points)
    query = QueryOnMap(text, point, scores, (time.perf_counter() - start) * 1e3, rows)
    return _change(session, before, lambda current: replace(current, query=query))


def remove_query(session: Session) -> CorpusMap:
    """Remove the query from the session's map."""
    return _change(session, current_map(session), lambda current: replace(current, query=None))


def compare_model(bench: Workbench, session: Session, model: str) -> Iterator[Step[ModelComparison]]:
    """Move the session's map to another model's layout of the same rows; the result of the last step is kept with the map."""
    before = current_map(session)
    stop, encoder = session.begin(MAP), bench.registry.encoder(model)
    sentences = before.projection.indexed.corpus.sentences
    job = bench.embedder.job(encoder, [sentences[row] for row in before.projection.drawn.tolist()])
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


def _clustered(projected: Projection, grouping: ClusterOptions) -> CorpusMap:
    start = time.perf_counter()
    clustering = clusters.cluster(projected.points, projected.indexed.embeddings, grouping.method, grouping.count)
    clustered = time.perf_counter()
    result = CorpusMap.build(projected, clustering, grouping.outliers, (grouping.method, grouping.count))
    return replace(result, seconds=projected.seconds | {"clusters": clustered - start, "names": time.perf_counter() - clustered})


@dataclass(frozen=True)
class MapOptions:
    out: Path | None = option("Output file: .html for the map as a page, .csv for a table of all rows.", output(".html", ".csv"))
    clusters: str = option(
        f'Number of clusters, 2 to {clusters.MOST_CLUSTERS}, or "auto": chosen by silhouette.', text("number of clusters"), AUTO
    )
    method: str = option(f"One of {', '.join(METHODS)} (finds their number).", choice("clustering method", METHODS), K_MEANS)
    outliers: float = option(
        "Per cent of rows that HDBSCAN may leave as outliers.", number("per cent of outliers", 0, 100), DEFAULT_OUTLIERS
    )
    places: bool = option("Also list every row's position and cluster.", flag("places"), True)
    colour: str = option("Column to colour the page by. Default: the cluster.", text("column"), "", endpoint=False)


def cluster_map(call: Call, options: MapOptions) -> Steps:
    """Draw a corpus in two dimensions, cluster it and name the clusters.

    Returns:
        points (how many), clusters (name, size, keywords, central sentence, silhouette, columns: its rows by the values of columns
        that have few, the mean of numbers), outliers, how, silhouette, accords: agreement with label columns (purity, ari, nmi),
        projection, notes, seconds by stage, places: row counted from 1, x, y, cluster (-1: outlier).
    """
    indexed = call.session.whole_corpus()  # raises without a corpus, for which the example would be drawn
    validation.one_of(options.colour, "column", indexed.corpus.metadata.columns)
    for step in draw(call.bench, call.session, ClusterOptions.read(options.method, options.clusters, options.outliers)):
        if not isinstance(step, CorpusMap):
            yield Step(step.stage, step.done, step.total)
            continue
        summary = step.summary() | ({"places": step.places()} if options.places else {})
        for cluster, columns in zip(summary["clusters"], by_cluster(step), strict=False):  # the last columns are of the outliers
            cluster["columns"] = columns
        yield Outcome(summary, _lines(step, options.out), value=step)
        return
    raise UserError("Stopped: another request draws this corpus again.")


def _lines(drawn: CorpusMap, out: Path | None) -> list[str]:
    clusters = [f"{size:7,}  {name}" for name, size in zip(drawn.names, drawn.clustering.sizes.tolist(), strict=True)]
    outliers = [f"{drawn.clustering.outliers:7,}  outliers"] if drawn.clustering.outliers else []
    return [f"{len(drawn.projection.points):,} sentences, {drawn.clustering.how} -> {out}", *clusters, *outliers]


CLUSTER_MAP = Job("cluster_map", Needs.CORPUS, MapOptions, cluster_map, "map")
