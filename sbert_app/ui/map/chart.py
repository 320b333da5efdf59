"""The map as a plotly figure: WebGL points as 32-bit numbers, one trace a colour, so that 100,000 of them are drawn at once."""

import secrets
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sbert_app.corpus_map.colouring import Kinds, Scale
from sbert_app.corpus_map.result import CorpusMap
from sbert_app.mapping.projection import Points
from sbert_app.ui.kit.figures import INK, TEAL, quiet
from sbert_app.ui.kit.html import short
from sbert_app.ui.map.palette import GREY, PALETTE

SCALE = [[0, "#a3a3ad"], [0.3, "#7fb0ac"], [0.55, "#14988d"], [0.8, "#d97706"], [1, "#d0455f"]]  # grey is low, red is high
TEXTS_UP_TO = 20_000  # points: beyond, hovering asks the server, for the sentences would be most of what is sent
HOVER_LENGTH, LINE_LENGTH = 160, 56
FEW_NAMES = 20  # more clusters than this have smaller names
BLANK = "rgba(138,138,148,0.35)"  # a row without a value
HEIGHT = 620
LARGEST, SMALLEST = 8.0, 2.2  # pixels a point


def moving(points: Points, rows: NDArray[np.int64]) -> go.Figure:
    """Points (m, 2) of these rows while they move: no colours yet, and nobody answers for them."""
    figure = _framed([_points(points, rows, _size(len(rows)), GREY, "sentences")])
    figure.update_layout(meta={"preview": True, "figure": secrets.token_hex(4)})
    return figure


def drawn(corpus_map: CorpusMap, colours: Kinds | Scale, texts: bool | None = None) -> go.Figure:
    """The finished map. texts: whether the sentences are inside the figure, None: for up to 20,000 points."""
    rows = corpus_map.ground.drawn
    inside = len(rows) <= TEXTS_UP_TO if texts is None else texts
    sentences = corpus_map.ground.indexed.corpus.sentences if inside else None
    if isinstance(colours, Scale):
        traces = _scaled(corpus_map.ground.points, rows, colours, sentences)
    else:
        traces = _kinds(corpus_map.ground.points, rows, colours, sentences)
    figure = _framed(traces, corpus_map.query.point if corpus_map.query else None)
    meta = {"texts": inside, "map": corpus_map.ground.id, "figure": secrets.token_hex(4)}
    figure.update_layout(meta=meta, annotations=_names(corpus_map), showlegend=_legend(colours))
    return figure


def _kinds(points: Points, rows: NDArray[np.int64], kinds: Kinds, sentences: Sequence[str] | None) -> list[go.Scattergl]:
    """A trace a kind, the rows of none below them all."""
    traces = []
    codes = kinds.codes[rows]
    for code in range(-1, len(kinds.names)):
        chosen = rows[codes == code]
        if len(chosen):
            colour, name = (GREY, kinds.rest) if code < 0 else (PALETTE[code % len(PALETTE)], kinds.names[code])
            traces.append(_points(points[chosen], chosen, _size(len(rows)), colour, short(name, 40), sentences))
    return traces


def _scaled(points: Points, rows: NDArray[np.int64], scale: Scale, sentences: Sequence[str] | None) -> list[go.Scattergl]:
    """The rows with a value in its colour, above those that have none."""
    size, known = _size(len(rows)), np.isfinite(scale.values[rows])
    blank, filled = rows[~known], rows[known]
    none = _points(points[blank], blank, size, BLANK, f"no value ({len(blank):,})", sentences)
    trace = _points(points[filled], filled, size, GREY, scale.title, sentences)
    bar: dict[str, Any] = {"title": {"text": escape(short(scale.title, 28)), "side": "top"}, "orientation": "h", "thickness": 8}
    bar |= {"len": 0.5, "x": 0.08, "xanchor": "left", "y": -0.01, "yanchor": "top", "outlinewidth": 0}
    bar |= {"tickvals": [value for value, _ in scale.ticks], "ticktext": [escape(text) for _, text in scale.ticks]}
    trace.marker.update(color=scale.values[filled], colorscale=SCALE, showscale=len(scale.ticks) > 1, colorbar=bar)
    trace.showlegend = False
    return [none, trace] if len(blank) else [trace]


def _points(
    points: Points, rows: NDArray[np.int64], size: float, colour: str, name: str, sentences: Sequence[str] | None = None
) -> go.Scattergl:
    hover: dict[str, Any] = {"hoverinfo": "none"}
    if sentences is not None:
        hover = {"text": [_wrapped(sentences[row]) for row in rows.tolist()], "hovertemplate": "%{text}<extra></extra>"}
    return go.Scattergl(
        x=np.ascontiguousarray(points[:, 0]),
        y=np.ascontiguousarray(points[:, 1]),
        mode="markers",
        name=escape(name),
        customdata=rows.astype(np.int32),
        marker={"size": size, "color": colour, "opacity": 0.85 if size > 4 else 0.7},
        unselected={"marker": {"opacity": 0.06}},
        selected={"marker": {"opacity": 1.0}},
        **hover,
    )


def _framed(traces: list[go.Scattergl], query: NDArray[np.float32] | None = None) -> go.Figure:
    """With the two overlays that the page's script fills: rings around picked rows, and the star of a query."""
    ring = {"size": 15, "color": "rgba(0,0,0,0)", "line": {"width": 2.5, "color": "#f2a900"}}
    star = {"size": 20, "symbol": "star", "color": "#f2a900", "line": {"width": 1.5, "color": "#1c1c1f"}}
    places: tuple[list[list[float]], ...] = ([], [] if query is None else [query.tolist()])
    overlays = [
        go.Scatter(
            x=[x for x, _ in place], y=[y for _, y in place], mode="markers", marker=marker, hoverinfo="skip", showlegend=False
        )
        for marker, place in zip((ring, star), places, strict=True)
    ]
    figure = go.Figure([*traces, *overlays])
    quiet(figure, HEIGHT)
    axis = {"visible": False, "showgrid": False, "zeroline": False}
    figure.update_layout(
        xaxis=axis,
        yaxis=axis | {"scaleanchor": "x", "scaleratio": 1},  # near means alike in every direction
        dragmode="lasso",
        clickmode="event",
        hovermode="closest",
        uirevision="keep",
        showlegend=False,
        hoverlabel={"align": "left", "font": {"size": 13, "family": "IBM Plex Sans, system-ui, sans-serif"}},
        newselection={"line": {"color": TEAL, "width": 1.5, "dash": "solid"}},
        legend={"orientation": "h", "y": -0.02, "yanchor": "top", "x": 0, "font": {"color": INK}, "itemsizing": "constant"},
        modebar={"remove": ["select2d", "autoScale2d", "toImage"], "bgcolor": "rgba(0,0,0,0)", "color": INK, "activecolor": TEAL},
    )
    return figure


def _legend(colours: Kinds | Scale) -> bool:
    """Clusters are named on the map and in the list beside it; a column's kinds, and rows without a value, are named below."""
    return colours.title != "cluster" if isinstance(colours, Kinds) else not np.isfinite(colours.values).all()


def _names(corpus_map: CorpusMap) -> list[dict[str, Any]]:
    """The clusters' names where most of their points are, largest first: the page's script hides those that would overlap."""
    notes = []
    size, length = (13, 34) if len(corpus_map.names) <= FEW_NAMES else (11, 24)
    for number, name in enumerate(corpus_map.names):
        members = corpus_map.clustering.members(number)
        x, y = np.median(corpus_map.ground.points[members], axis=0).tolist()
        notes.append(
            {"x": x, "y": y, "text": escape(short(name, length)), "showarrow": False, "font": {"size": size, "color": INK}}
        )
    return notes if len(notes) > 1 else []


def _size(points: int) -> float:
    """Smaller the more there are."""
    return float(np.clip(420 / max(1, points) ** 0.5, SMALLEST, LARGEST))


def _wrapped(sentence: str) -> str:
    """A sentence for the hover box: cut, in lines, and as text, for plotly reads some markup."""
    words, lines = short(" ".join(sentence.split()), HOVER_LENGTH).split(" "), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) >= LINE_LENGTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(escape(line, quote=False) for line in lines)
