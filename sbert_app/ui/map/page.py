"""The map as a self-contained html page."""

from typing import TYPE_CHECKING, Any

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.jobs.cluster_map import CLUSTER_MAP
from sbert_app.jobs.declaring import recipe
from sbert_app.services.corpus.cluster_map import AUTO
from sbert_app.ui.kit import html
from sbert_app.ui.kit.figures import PAGE_CONFIG
from sbert_app.ui.kit.html import render
from sbert_app.ui.kit.take_home import Caption, input_of
from sbert_app.ui.map import view
from sbert_app.wording import plural

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 640  # pixels
BUTTONS = {"displayModeBar": True, "scrollZoom": True}  # the map keeps plotly's buttons, in a strip above its points


def caption(corpus_map: CorpusMap) -> Caption:
    """The map's title and source, for pictures and pages."""
    projection, count = corpus_map.projection, corpus_map.clustering.count
    sentences = len(projection.points)
    title = (
        f"Map of {projection.indexed.corpus.name}: {sentences:,} {plural(sentences, 'sentence', 'sentences')} in {count} "
        f"{plural(count, 'cluster', 'clusters')}"
    )
    return Caption.of(title, corpus_map.model, projection.method)


def options(corpus_map: CorpusMap) -> dict[str, Any]:
    """The options of the job that draws the map again."""
    method, count = corpus_map.grouping
    return {"out": "map.html", "method": method, "clusters": str(count or AUTO), "outliers": round(100 * corpus_map.outliers)}


def page(corpus_map: CorpusMap, chart: "go.Figure") -> str:
    """Render the page, with plotly's and the map's scripts inside: about 5 MB plus the sentences."""
    corpus, sizes = corpus_map.projection.indexed.corpus, corpus_map.clustering.sizes.tolist()
    rows = [
        [name, f"{size:,}", ", ".join(words), html.short(corpus.sentences[row], 140)]
        for name, size, words, row in zip(corpus_map.names, sizes, corpus_map.keywords, corpus_map.central, strict=True)
    ]
    about = caption(corpus_map)
    return render(
        "map_page.html",
        title=about.title,
        source=about.source,
        summary=view.summary(corpus_map),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, default_height=f"{HEIGHT}px", config=PAGE_CONFIG | BUTTONS),
        clusters=html.table(["cluster", "rows", "distinctive words", "most central sentence"], rows),
        numbers=view.numbers(corpus_map),
        command=recipe.shell(CLUSTER_MAP, options(corpus_map), input_of(corpus_map.projection.indexed)),
    )
