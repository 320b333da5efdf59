"""The map as a self-contained html page."""

from html import escape

import plotly.graph_objects as go

from sbert_app.corpus_map.result import CorpusMap
from sbert_app.settings import ASSETS
from sbert_app.ui.kit import html
from sbert_app.ui.map import view

START = "const gd = document.querySelector('.js-plotly-plot'); studioMap.listen(gd, () => {});"


def page(corpus_map: CorpusMap, chart: go.Figure) -> str:
    """Render the page, with plotly's and the map's scripts inside: about 5 MB plus the sentences."""
    name = corpus_map.projection.indexed.corpus.name
    title = f"Map of {name}"
    style, script = ((ASSETS / file).read_text(encoding="utf-8") for file in ("map_page.css", "map.js"))
    plot = chart.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False, "scrollZoom": True})
    how = "Hover to read a sentence, drag to select, scroll to zoom, double-click to show all. Near points are similar."
    sizes = corpus_map.clustering.sizes.tolist()
    sentences = corpus_map.projection.indexed.corpus.sentences
    rows = [
        [escape(name), f"{size:,}", escape(", ".join(words)), escape(html.short(sentences[row], 140))]
        for name, size, words, row in zip(corpus_map.names, sizes, corpus_map.keywords, corpus_map.central, strict=True)
    ]
    clusters = html.table(["cluster", "rows", "distinctive words", "most central sentence"], rows)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><h1>{escape(title)}</h1>{view.summary(corpus_map)}"
        f'<div class="map">{plot}</div><p class="hint">{how}</p><h2>Clusters</h2><div class="scroll">{clusters}</div>'
        f"<h2>How good are they?</h2>{view.numbers(corpus_map)}"
        f'<p class="hint">{escape(corpus_map.model)} · made with SBERT Studio</p><script>{script}\n{START}</script></body></html>'
    )
