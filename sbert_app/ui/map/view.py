"""Render the text around the map, and the map as a self-contained html page."""

from typing import Any

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.result import NAME_LENGTH, CorpusMap, ModelComparison
from sbert_app.jobs.map.job import AUTO, CLUSTER_MAP
from sbert_app.mapping.clusters import SAMPLE
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, input_of, shell
from sbert_app.wording import amount, change_100, plural

HOW_TO = Markup(
    '<p class="hint by-mouse">Hover: its sentence. Click: its neighbours. Lasso: the points inside. Double-click: '
    'all again.</p><p class="hint by-touch">Tap: its neighbours. Lasso: the points inside. Show all: all again.</p>'
)
NEAR = (
    "Near points are similar; distances between clusters and their sizes on the map mean little. A cluster is named after words "
    "that its rows use more than the others do: not every row has them, so read some before you count a cluster as a topic."
)
SKETCH = Markup('<p class="stage">A sketch, from the words of each row: the map can be drawn when the model has read all rows.</p>')
PREVIEW = Markup('<p class="stage">Preview: the first two principal components. Draw the map to see named clusters.</p>')
NO_MAP = "Similar sentences will be close on the map, in named groups, which are listed here."
NOTHING_CHOSEN = "Click a point, draw a lasso, or choose a cluster to list sentences here."
NO_ROWS = "No sentence has this. Remove a filter, or choose “Show all”."
EXAMPLE = "support_tickets.csv"
HEIGHT = 640  # pixels, of the map on a page
MEASURES = Markup('<div class="measures numbers-map">{}</div>')
BUTTONS = {"displayModeBar": True, "scrollZoom": True}  # the map keeps plotly's buttons, in a strip above its points


def corpus_line(indexed: IndexedCorpus | None = None) -> Markup:
    """The corpus that will be drawn; None means the example."""
    name, facts = EXAMPLE, ", the example"
    if indexed is not None:
        name, facts = indexed.corpus.name, f": {amount(len(indexed.corpus), 'sentence')}"
    return html.status(Markup("<b>{}</b>{}").format(name, facts))


def draw_label(indexed: IndexedCorpus | None) -> str:
    """On the button while there is no map of the open corpus; None means the example."""
    return f"Draw the map of {amount(len(indexed.corpus), 'row')}" if indexed else "Draw the example’s map"


def summary(corpus_map: CorpusMap) -> Markup:
    """What was drawn; folded: how to read it, how it was made, and the time of each step."""
    projection, clustering = corpus_map.projection, corpus_map.clustering
    stages = " · ".join(f"{name} {seconds:.2f} s" for name, seconds in corpus_map.seconds.items())
    count, total = len(projection.points), sum(corpus_map.seconds.values())
    outliers = f", {amount(clustering.outliers, 'outlier')}" if clustering.outliers else ""
    head = Markup("<b>{:,}</b> {} in <b>{}</b>{}, drawn in {:.1f} s").format(
        count, plural(count, "sentence", "sentences"), amount(clustering.count, "cluster"), outliers, total
    )
    how = f"Points: {projection.method}. Clusters: {clustering.method} on the map; {clustering.how}. Time: {stages}."
    fold = Markup("<details><summary>How to read it, and how it was drawn</summary>{}{}</details>")
    folded = fold.format(html.hint(NEAR), html.hint(how))
    return Markup('<div class="map-summary"><p role="status">{}</p>{}{}</div>').format(head, folded, html.notes(projection.notes))


def status(title: str = "") -> Markup:
    """The line on the map: what is selected; without a selection, how to select."""
    return html.status(Markup("<b>{}</b>").format(title)) if title else HOW_TO


def numbers(corpus_map: CorpusMap) -> Markup:
    """Agreement of the clusters with the corpus's label columns, then the silhouettes."""
    return _accords(corpus_map) + _silhouettes(corpus_map)


def _silhouettes(corpus_map: CorpusMap) -> Markup:
    if corpus_map.silhouette is None:
        return Markup()
    sample = min(SAMPLE, len(corpus_map.projection.points))
    line = (
        f"Silhouette of all clusters: {corpus_map.silhouette:.3f}, from −1 to 1; higher means better separated, and sentences "
        f"rarely exceed 0.2. Computed by cosine between the embeddings of {sample:,} rows; on the map it would be too optimistic."
    )
    rows = [
        [html.short(corpus_map.names[number], NAME_LENGTH), f"{silhouette:.2f}", f"{corpus_map.clustering.sizes[number]:,}"]
        for number, silhouette in corpus_map.silhouettes.items()
    ]
    return html.notes([line]) + MEASURES.format(html.table(["cluster", "silhouette", "rows"], rows))


def _accords(corpus_map: CorpusMap) -> Markup:
    if not corpus_map.accords:
        return html.notes(["The corpus has no label column (2 to 100 different values) to compare the clusters with."])
    rows = [[a.column, f"{a.values:,}", f"{a.purity:.3f}", f"{a.ari:.3f}", f"{a.nmi:.3f}"] for a in corpus_map.accords]
    explained = (
        "How far the clusters match the values of a column. ARI is 0 by chance and 1 for the same groups; NMI is 1 for the same "
        "groups; purity grows with the number of clusters."
    )
    return MEASURES.format(html.table(["column", "values", "purity", "ARI", "NMI"], rows)) + html.notes([explained])


def hovered(corpus_map: CorpusMap, row: int) -> Markup:
    """The sentence under the pointer, for plots that do not hold the sentences."""
    sentence = html.short(corpus_map.projection.indexed.corpus.sentences[row], 300)
    return Markup('<p class="under-pointer" dir="auto">{}</p>').format(sentence)


def model_comparison(model: str, comparison: ModelComparison) -> Markup:
    """How neighbours and same-label shares change under the other model. model: the map's own."""
    shares = comparison.kept
    lines = [
        f"{100 * float(shares.mean()):.0f} % of each row's 10 nearest rows stay the same under {comparison.model}; "
        f"{100 * float((shares == 1).mean()):.0f} % of the rows keep all of them. Colour by “Drift” to see which rows changed.",
        "The second map starts from the first and is aligned to it. Small moves are chance, as a second run of the same model "
        "shows: the drift counts neighbours, not distances on the map.",
    ]
    if shares.min() == 1:
        return html.notes(["All rows have the same neighbours under this model: moves on the map are chance.", *lines[1:]])
    if not comparison.same_label:
        return html.notes(lines)
    rows = [
        [column, f"{100 * before:.1f} %", f"{100 * after:.1f} %", f"{change_100(after - before)} points"]
        for column, (before, after) in comparison.same_label.items()
    ]
    table = html.table(["nearest rows with the same", model, comparison.model, "change"], rows)
    return MEASURES.format(table) + html.notes(lines)


def caption(corpus_map: CorpusMap) -> Caption:
    """The map's title and source, for pictures and pages."""
    projection, clusters = corpus_map.projection, amount(corpus_map.clustering.count, "cluster")
    title = f"Map of {projection.indexed.corpus.name}: {amount(len(projection.points), 'sentence')} in {clusters}"
    return Caption.of(title, corpus_map.model, projection.method)


def options(corpus_map: CorpusMap) -> dict[str, Any]:
    """The options of the job that draws the map again."""
    method, count = corpus_map.grouping
    return {"out": "map.html", "method": method, "clusters": str(count or AUTO), "outliers": round(100 * corpus_map.outliers)}


def page(corpus_map: CorpusMap, chart: html.Figure) -> str:
    """Render the page, with plotly's and the map's scripts inside: about 5 MB plus the sentences."""
    corpus, sizes = corpus_map.projection.indexed.corpus, corpus_map.clustering.sizes.tolist()
    rows = [
        [name, f"{size:,}", ", ".join(words), html.short(corpus.sentences[row], 140)]
        for name, size, words, row in zip(corpus_map.names, sizes, corpus_map.keywords, corpus_map.central, strict=True)
    ]
    about = caption(corpus_map)
    return html.render(
        "map_page.html", title=about.title, source=about.source, summary=summary(corpus_map), numbers=numbers(corpus_map),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, default_height=f"{HEIGHT}px", config=html.PAGE_CONFIG | BUTTONS),
        clusters=html.table(["cluster", "rows", "distinctive words", "most central sentence"], rows),
        command=shell(CLUSTER_MAP, options(corpus_map), input_of(corpus_map.projection.indexed)),
    )  # fmt: skip
