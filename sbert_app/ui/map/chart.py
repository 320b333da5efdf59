"""The map as a plotly figure, fast enough for 100,000 points (WebGL, a trace per colour, 32 bits), and messages to its script."""

import base64
import json
import secrets
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sbert_app.corpus_map.colouring import CLUSTERS, Categories, ColourScale, colouring
from sbert_app.corpus_map.query import QueryOnMap
from sbert_app.corpus_map.result import CorpusMap, ModelComparison
from sbert_app.mapping.keywords import LABEL, SEPARATOR
from sbert_app.mapping.projection import Points
from sbert_app.ui.kit.html import BELOW, GREY, INK, TEAL, Figure, as_text, quiet, short
from sbert_app.vectors import Integers

PALETTE = (  # of clusters and values, distinguishable on light and dark
    "#14988d", "#d97706", "#4f6fd0", "#d0455f", "#7a5cc0", "#5a8f3c", "#c2479d", "#a3584a", "#3f9fd0", "#8a8f1f",
    "#e5806a", "#2f6f9f", "#b07cd8", "#2f9e62", "#c9a227", "#9a3b6b", "#6fb1a0", "#8d6e9f", "#b5651d", "#7f9fd8",
)  # fmt: skip
SCALE = [[0, "#a3a3ad"], [0.3, "#7fb0ac"], [0.55, "#14988d"], [0.8, "#d97706"], [1, "#d0455f"]]  # from grey (low) to red (high)
# Of three and more numbers, from low to high.
ORDERED = "#6b7fd7 #4f97c8 #3fa6a8 #45ab83 #6fae57 #a3ab35 #cfa12b #df8a34 #e06c46 #d8505a #c43a6b #a82f72".split()
TEXTS_UP_TO = 20_000  # points; with more, sentences are requested on hover, as they would be most of the data sent
HOVER_LENGTH = 160  # characters of a sentence, in lines of 56
LINES = textwrap.TextWrapper(56, break_long_words=False, break_on_hyphens=False)
FEW_NAMES = 20  # with more clusters, names are smaller
TERM_LENGTH, ONE_LINE = 24, 16  # characters of a term and of a name in one line
BLANK = "rgba(138,138,148,0.35)"  # a row without a value
BUTTONS = 34  # pixels above the points, for plotly's buttons
LARGEST, SMALLEST = 8.0, 2.2  # point sizes in pixels
FAINTEST = 0.2


def layout_figure(points: Points, rows: Integers) -> Figure:
    """Points (m, 2) of these rows during the layout: uncoloured and not clickable."""
    figure = _with_overlays([_points(points, rows, len(rows), GREY, "sentences")])
    figure.update_layout(meta={"preview": True, "figure": secrets.token_hex(4)})
    return figure


def map_figure(corpus_map: CorpusMap, by: str = CLUSTERS, texts: bool = False) -> Figure:
    """The finished map. by: one of `colouring.choices`; texts: whether it holds the sentences also of more than 20,000 points."""
    rows, colours = corpus_map.projection.drawn, colouring(corpus_map, by)
    inside = texts or len(rows) <= TEXTS_UP_TO
    sentences = corpus_map.projection.indexed.corpus.sentences if inside else None
    if isinstance(colours, ColourScale):
        traces, title = _scaled(corpus_map.projection.points, rows, colours, sentences), None  # it is above its bar
    else:
        traces, title = _categories(corpus_map.projection.points, rows, colours, sentences), _title(colours)
    figure = _with_overlays(traces, corpus_map.query)
    meta = {"texts": inside, "map": corpus_map.projection.id, "figure": secrets.token_hex(4), "centres": corpus_map.centres()}
    # The names after those of the clusters are of groups of clusters; what a visitor named is named at any zoom.
    meta |= {"clusters": corpus_map.clustering.count, "given": _at_any_zoom(corpus_map)}
    meta |= {"others": corpus_map.other_centres()} if corpus_map.comparison else {}
    # For categories of a column and rows without a value, not for clusters, named on the map.
    legend = colours.of_column if isinstance(colours, Categories) else not np.isfinite(colours.values).all()
    figure.update_layout(meta=meta, annotations=_names(corpus_map), showlegend=legend, legend_title=title)
    return figure


def _title(colours: Categories | ColourScale) -> dict[str, str]:
    return {"text": as_text(short(colours.title, 28)), "side": "top"}


def _categories(points: Points, rows: Integers, categories: Categories, sentences: Sequence[str] | None) -> list[Figure]:
    """One trace per category. Rows without one are drawn first, then the largest, below those that it would cover."""
    codes = categories.codes[rows]
    traces = []
    for code, _ in sorted(Counter(codes.tolist()).items(), key=lambda item: (item[0] >= 0, -item[1])):
        chosen, name = rows[codes == code], short(categories.name_of(code), 40)
        traces.append(_points(points[chosen], chosen, len(rows), colour_of(code, categories.numbers), name, sentences))
        traces[-1].legendrank = code  # the legend keeps their order
    return traces


def colour_of(code: int, numbers: int = 0) -> str:
    """The colour of a category; grey for rows without one. numbers: the first so many are numbers, from low to high."""
    if numbers > 2:
        return ORDERED[round((len(ORDERED) - 1) * code / (numbers - 1))] if 0 <= code < numbers else GREY
    return PALETTE[code % len(PALETTE)] if code >= 0 else GREY


def _scaled(points: Points, rows: Integers, scale: ColourScale, sentences: Sequence[str] | None) -> list[Figure]:
    """Rows with a value in its colour, drawn above those without one."""
    total, has_value = len(rows), np.isfinite(scale.values[rows])
    blank, filled = rows[~has_value], rows[has_value]
    blank_trace = _points(points[blank], blank, total, BLANK, f"no value ({len(blank):,})", sentences)
    trace = _points(points[filled], filled, total, GREY, scale.title, sentences)
    bar: dict[str, Any] = {"title": _title(scale), "orientation": "h", "thickness": 8, "len": 0.5, "outlinewidth": 0}
    bar |= {"x": 0.22 if len(blank) else 0.08, "xanchor": "left", "y": -0.01, "yanchor": "top"}
    bar |= {"tickvals": [value for value, _ in scale.ticks], "ticktext": [as_text(text) for _, text in scale.ticks]}
    trace.marker.update(color=scale.values[filled], showscale=len(scale.ticks) > 1, colorbar=bar)
    trace.marker.colorscale = ORDERED if scale.of_column else SCALE
    trace.showlegend = False
    return [blank_trace, trace] if len(blank) else [trace]


def _points(points: Points, rows: Integers, total: int, colour: str, name: str, sentences: Sequence[str] | None = None) -> Figure:
    """A trace of these points. Of many, in `total`, each is small and faint: where they overlap they show how dense they lie."""
    import plotly.graph_objects as go

    size = float(np.clip(420 / max(1, total) ** 0.5, SMALLEST, LARGEST))
    opacity = 0.85 if total < 11_000 else float(np.clip(0.7 * TEXTS_UP_TO / total, FAINTEST, 0.7))
    hover: dict[str, Any] = {"hoverinfo": "none"}
    if sentences is not None:
        hover = {"text": [_wrapped(sentences[row]) for row in rows.tolist()], "hovertemplate": "%{text}<extra></extra>"}
    return go.Scattergl(
        x=np.ascontiguousarray(points[:, 0]), y=np.ascontiguousarray(points[:, 1]), customdata=rows.astype(np.int32),
        mode="markers", name=as_text(name), marker={"size": size, "color": colour, "opacity": opacity},
        unselected={"marker": {"color": GREY, "opacity": 0.35}}, selected={"marker": {"opacity": 1.0}}, **hover,
    )  # fmt: skip


def _with_overlays(traces: list[Figure], query: QueryOnMap | None = None) -> Figure:
    """A figure with two overlays for the page's script: rings around selected rows, and the query's star."""
    import plotly.graph_objects as go

    ring = {"size": 15, "color": "rgba(0,0,0,0)", "line": {"width": 2.5, "color": "#f2a900"}}
    star = {"size": 20, "symbol": "star", "color": "#f2a900", "line": {"width": 1.5, "color": "#1c1c1f"}}
    nearest = query.nearest.points.tolist() if query and query.nearest else []
    positions = ((ring, nearest), (star, [query.point.tolist()] if query else []))
    style: dict[str, Any] = {"mode": "markers", "hoverinfo": "skip", "showlegend": False}
    overlays = [
        go.Scattergl(x=[x for x, _ in points], y=[y for _, y in points], marker=marker, **style) for marker, points in positions
    ]
    figure = go.Figure([*traces, *overlays])
    quiet(figure, None)  # as high as its place on the page
    axis = {"visible": False, "showgrid": False, "zeroline": False}
    figure.update_layout(
        xaxis=axis, yaxis=axis | {"scaleanchor": "x", "scaleratio": 1},  # distance means the same in every direction
        margin={"t": BUTTONS}, dragmode="lasso", clickmode="event", hovermode="closest", uirevision="keep", showlegend=False,
        hoverlabel={"align": "left", "font": {"size": 13, "family": "IBM Plex Sans, system-ui, sans-serif"}},
        newselection={"line": {"color": TEAL, "width": 1.5, "dash": "solid"}},
        legend=BELOW | {"y": -0.02, "font": {"color": INK}, "itemsizing": "constant"},
        modebar={"remove": ["select2d", "autoScale2d", "toImage"], "bgcolor": "rgba(0,0,0,0)", "color": INK, "activecolor": TEAL},
    )  # fmt: skip
    return figure


def _names(corpus_map: CorpusMap) -> list[dict[str, Any]]:
    """Names of clusters, then of groups of clusters, largest first, at median points; the page's script places them."""
    sizes = [13 if level.count <= FEW_NAMES else 11 for level in corpus_map.levels for _ in range(level.count)]
    notes: list[dict[str, Any]] = [
        {"x": x, "y": y, "text": label, "showarrow": False, "font": {"size": size, "weight": 700, "color": INK}}
        for (x, y), label, size in zip(corpus_map.centres(), labels(corpus_map), sizes, strict=True)
    ]
    return notes if len(notes) > 1 else []


def labels(corpus_map: CorpusMap) -> list[str]:
    """The name of each cluster as it is on the map, then of each group of clusters."""
    given = {n: "<br>".join(map(as_text, textwrap.wrap(name, TERM_LENGTH))) for n, name in corpus_map.given_names.items()}
    own = [given.get(number) or _label(name) for number, name in enumerate(corpus_map.made_names)]
    return own + [f"{own[cluster]}<br>and {more} more" if more else own[cluster] for cluster, more in corpus_map.leads]


def _at_any_zoom(corpus_map: CorpusMap) -> list[int]:
    """The clusters that a visitor named, but for those that name a group from afar."""
    leads = {cluster for cluster, _ in corpus_map.leads}
    return [number for number in corpus_map.given_names if number not in leads]


def _label(name: str) -> str:
    """The first two terms of a name made from keywords, in two lines unless both are short."""
    terms = [short(term, TERM_LENGTH) for term in name.split(SEPARATOR)[:LABEL]]
    line = SEPARATOR.join(terms)
    return as_text(line) if len(line) <= ONE_LINE else "<br>".join(as_text(term) for term in terms)


def _wrapped(sentence: str) -> str:
    """A sentence for the hover box: cut, wrapped and escaped."""
    return str(Markup("<br>").join(LINES.wrap(short(" ".join(sentence.split()), HOVER_LENGTH))))


def message(**parts: Any) -> str:
    """Encode a message, with a random number so that the page also notices a repeated one."""
    return json.dumps(parts | {"number": secrets.randbits(32)})


def renamed(corpus_map: CorpusMap) -> str:
    """A message: the names of clusters, and the clusters that a visitor named."""
    return message(map=corpus_map.projection.id, names=labels(corpus_map), given=_at_any_zoom(corpus_map))


def highlight(rows: NDArray[np.integer] | None, ringed: Points | None = None, **parts: Any) -> str:
    """A message: keep these rows bright and fade the others (None: all bright); draw rings around these positions, (k, 2)."""
    bright = np.array([] if rows is None else [-1], np.int32) if rows is None or not len(rows) else rows  # -1: no row
    return message(highlight=_base64(bright, np.int32), rings=[] if ringed is None else ringed.ravel().tolist(), **parts)


def move(corpus_map: CorpusMap, comparison: ModelComparison, share: float) -> str:
    """A message: the drawn rows on both maps, and the centres on the other model's, for the page to draw at `share` of the way."""
    rows, points, centres = corpus_map.projection.drawn, corpus_map.projection.points, corpus_map.other_centres()
    positions = {"from": _base64(points[rows], np.float32), "to": _base64(comparison.points, np.float32)}
    return message(map=corpus_map.projection.id, rows=_base64(rows, np.int32), **positions, share=share, others=centres)


def _base64(values: NDArray[Any], kind: Any) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
