"""The job cluster_map: draw a corpus in two dimensions and cluster it."""

from dataclasses import dataclass
from pathlib import Path

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import choice, flag, number, option, output, text
from sbert_app.jobs.map.drawing import AUTO, DEFAULT_OUTLIERS, ClusterOptions, draw
from sbert_app.mapping.clusters import K_MEANS, METHODS
from sbert_app.step import Step


@dataclass(frozen=True)
class MapOptions:
    out: Path | None = option("Output file: .html for the map as a page, .csv for a table of all rows.", output(".html", ".csv"))
    clusters: str = option('Number of clusters, or "auto": chosen by silhouette.', text("number of clusters"), AUTO)
    method: str = option(f"One of {', '.join(METHODS)}.", choice("clustering method", METHODS), K_MEANS)
    outliers: float = option(
        "Per cent of rows that HDBSCAN may leave as outliers.", number("per cent of outliers", 0, 100), DEFAULT_OUTLIERS
    )
    places: bool = option("Also list every row's position and cluster.", flag("places"), True)
    colour: str = option("Column to colour the page by. Default: the cluster.", text("column"), "", endpoint=False)


def cluster_map(call: Call, options: MapOptions) -> Steps:
    """Draw a corpus in two dimensions, cluster it and name the clusters.

    Returns:
        points (how many), clusters (name, size, keywords, central sentence, silhouette), outliers, how, silhouette, accords:
        agreement with label columns (purity, ari, nmi), projection, notes, seconds by stage, places: row counted from 1, x, y,
        cluster (-1: outlier).
    """
    call.session.corpus()  # raises without a corpus, for which the example would be drawn
    for step in draw(call.bench, call.session, ClusterOptions.read(options.method, options.clusters, options.outliers)):
        if not isinstance(step, CorpusMap):
            yield Step(step.stage, step.done, step.total)
            continue
        summary = step.summary() | ({"places": step.places()} if options.places else {})
        yield Outcome(summary, _lines(step, options.out), value=step)
        return
    raise UserError("Stopped: another request draws this corpus again.")


def _lines(drawn: CorpusMap, out: Path | None) -> list[str]:
    clusters = [f"{size:7,}  {name}" for name, size in zip(drawn.names, drawn.clustering.sizes.tolist(), strict=True)]
    outliers = [f"{drawn.clustering.outliers:7,}  outliers"] if drawn.clustering.outliers else []
    return [f"{len(drawn.projection.points):,} sentences, {drawn.clustering.how} -> {out}", *clusters, *outliers]


CLUSTER_MAP = Job("cluster_map", Needs.CORPUS, MapOptions, cluster_map, "map")
