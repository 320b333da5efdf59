"""The job cluster_map: a corpus in two dimensions."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.jobs.job import Call, Job, Needs, Outcome, Step
from sbert_app.jobs.option import choice, flag, number, option, output, text
from sbert_app.mapping.clusters import K_MEANS, METHODS
from sbert_app.services.cluster_map import AUTO, DEFAULT_OUTLIERS, Grouping


@dataclass(frozen=True)
class MapOptions:
    out: Path | None = option("The map: a page ending in .html, or every row ending in .csv.", output(".html", ".csv"))
    clusters: str = option('Number of clusters, or "auto": as many as the silhouette favours.', text("number of clusters"), AUTO)
    method: str = option(f"One of {', '.join(METHODS)}.", choice("clustering method", METHODS), K_MEANS)
    outliers: float = option(
        "Per cent of the rows that HDBSCAN may leave without a cluster.", number("per cent of outliers", 0, 100), DEFAULT_OUTLIERS
    )
    places: bool = option("Whether to list every row's place and cluster too.", flag("places"), True)
    colour: str = option("Colour the page by this column. Default: by cluster.", text("column"), "", endpoint=False)


def cluster_map(call: Call, options: MapOptions) -> Iterator[Step | Outcome]:
    """Draw a corpus in two dimensions, find its clusters and name them.

    Returns:
        points (their number), clusters (name, size, keywords, central sentence, silhouette), outliers, how, silhouette, accords
        with label columns (purity, ari, nmi), projection, notes, seconds by stage, and places: row counted from 1, x, y, cluster
        (-1: outlier).
    """
    call.services.bench.sessions.corpus(call.session_id)  # the id of a session without a corpus would draw the example
    grouping = Grouping.read(options.method, options.clusters, options.outliers)
    for step in call.services.maps.draw(call.session_id, grouping):
        if not isinstance(step, CorpusMap):
            yield Step(step.stage, step.done, step.total)
            continue
        summary = step.summary() | ({"places": step.places()} if options.places else {})
        yield Outcome(summary, _lines(step, options.out), value=step)
        return
    raise UserError("Stopped: this corpus is drawn anew by another request.")


def _lines(drawn: CorpusMap, out: Path | None) -> list[str]:
    clusters = [f"{size:7,}  {name}" for name, size in zip(drawn.names, drawn.clustering.sizes.tolist(), strict=True)]
    rest = [f"{drawn.clustering.outliers:7,}  outliers"] if drawn.clustering.outliers else []
    return [f"{len(drawn.ground.points):,} sentences, {drawn.clustering.how} -> {out}", *clusters, *rest]


CLUSTER_MAP = Job("cluster_map", Needs.CORPUS, MapOptions, cluster_map, "map")
