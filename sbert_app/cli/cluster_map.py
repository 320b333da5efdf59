"""The command on the whole corpus at once: map."""

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sbert_app.cli.common import Column, File, Json, Model, app, index_file, services, show
from sbert_app.corpus_map.colouring import CLUSTERS, COLUMN, colouring
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.errors import UserError
from sbert_app.mapping.clusters import K_MEANS, METHODS
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.cluster_map import AUTO, DEFAULT_OUTLIERS, Grouping, MapService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.map.chart import drawn
from sbert_app.ui.map.page import page

KINDS = (".html", ".csv")


@app.command("map")
def cluster_map(
    file: File,
    out: Annotated[Path, typer.Option("--out", help="The map: a page ending in .html, or every row ending in .csv.")],
    clusters: Annotated[str, typer.Option("--clusters", help=f"Number of clusters, or {AUTO}.")] = AUTO,
    method: Annotated[str, typer.Option("--method", help=f"One of {', '.join(METHODS)}.")] = K_MEANS,
    outliers: Annotated[float, typer.Option("--outliers", help="At most so many % of the rows (HDBSCAN).")] = DEFAULT_OUTLIERS,
    colour: Annotated[str, typer.Option("--colour", help="Colour the page by this column. Default: by cluster.")] = "",
    column: Column = None,
    model: Model = DEFAULT_ENCODER,
    as_json: Json = False,
) -> None:
    """Draw a file in two dimensions, find its clusters and name them."""
    if out.suffix not in KINDS:
        raise UserError(f"'{out}' must end in {' or '.join(KINDS)}.")
    grouping = Grouping.read(method, clusters, outliers)
    studio = services()
    session_id, seconds = index_file(studio, file, column, model)
    found = _drawn(studio.maps, session_id, grouping)
    if out.suffix == ".csv":
        text = csv_file(found.records(np.arange(len(found.ground.points))))
    else:
        text = page(found, drawn(found, colouring(found, f"{COLUMN}{colour}" if colour else CLUSTERS), texts=True))
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write '{out}': {error.strerror}. Choose another --out.") from error
    summary = found.summary()
    summary["seconds"] = {"index": seconds} | found.seconds
    show(summary, as_json, _lines(found, out))


def _drawn(service: MapService, session_id: str, grouping: Grouping) -> CorpusMap:
    stage = ""
    for step in service.draw(session_id, grouping):
        if not isinstance(step, CorpusMap) and step.stage != stage:
            stage = step.stage
            sys.stderr.write(f"{stage} …\n")
    return service.map(session_id)


def _lines(found: CorpusMap, out: Path) -> list[str]:
    sizes: list[Any] = found.clustering.sizes.tolist()
    clusters = [f"{size:7,}  {name}" for name, size in zip(found.names, sizes, strict=True)]
    rest = [f"{found.clustering.outliers:7,}  outliers"] if found.clustering.outliers else []
    return [f"{len(found.ground.points):,} sentences, {found.clustering.how} -> {out}", *clusters, *rest]
