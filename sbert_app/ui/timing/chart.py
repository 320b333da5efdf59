"""Log-log chart of seconds by number of sentences: measured solid, extrapolated dashed with a band, the paper's as stars."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.evaluation import paper
from sbert_app.timing.report import Published
from sbert_app.timing.result import APPROXIMATE, CROSS, EXACT, MOST_SENTENCES, SBERT, TimingResult
from sbert_app.timing.throughput import Extrapolation
from sbert_app.ui.kit.html import GRID, INK, MIDDLE, TEAL, Figure, quiet
from sbert_app.wording import spoken

AMBER = "#c2650b"  # readable on light and dark
POINTS = 40
FIRST = 10
YEAR = 365.25 * 86400
SIZES = ("10", "100", "1,000", "10,000", "100k", "1M")
TICKS = {1e-5: "10 µs", 1e-3: "1 ms", 0.1: "0.1 s", 1: "1 s", 60: "1 min", 3600: "1 hour", 86400: "1 day", YEAR: "1 year",
         30 * YEAR: "30 years"}  # fmt: skip

Points = Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Style:
    """Style of a system's line; a line with a band is thicker."""

    name: str
    colour: str
    band: str = ""


def race_chart(result: TimingResult | Published, sentences: int) -> Figure:
    """The chart of all systems; a dotted line marks the chosen number of sentences."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_vline(sentences, line={"color": INK, "dash": "dot", "width": 1})
    _draw_system(
        figure, Style("Cross-encoder, all pairs", AMBER, "rgba(194,101,11,0.18)"), result.measured(CROSS), result.cross_seconds
    )
    _draw_system(figure, Style("SBERT, all pairs", TEAL, "rgba(20,152,141,0.18)"), result.measured(SBERT), result.sbert_seconds)
    if result.queries:
        _draw_system(figure, Style("One search, exact index", MIDDLE), *_search(result, EXACT))
        _draw_system(figure, Style("One search, approximate index", "#4f6fd0"), *_search(result, APPROXIMATE))
    _paper(figure)
    quiet(figure, 460)
    legend = {"orientation": "h", "y": -0.16, "x": 0, "yanchor": "top"}
    figure.update_layout(legend=legend, hovermode="closest", uirevision="keep")
    figure.update_xaxes(title="sentences", tickvals=[10**i for i in range(1, 7)], ticktext=SIZES, range=[0.85, 6.25])
    figure.update_yaxes(title="time", automargin=True, tickvals=list(TICKS), ticktext=list(TICKS.values()))
    for axis in (figure.update_xaxes, figure.update_yaxes):
        axis(type="log", gridcolor=GRID, zeroline=False)
    return figure


def _search(result: TimingResult | Published, kind: str) -> tuple[Points, Callable[[int], Extrapolation]]:
    points = [(q.rows, q.exact_seconds if kind == EXACT else q.approximate_seconds) for q in result.queries]
    return points, lambda n: Extrapolation(result.query_seconds(kind, n) or 0.0)


def _draw_system(figure: Figure, style: Style, measured: Points, extrapolate: Callable[[int], Extrapolation]) -> None:
    """Draw the measured runs solid and, from the largest of them on, the extrapolation dashed."""
    line = {"color": style.colour, "width": 2.5 if style.band else 1.5}
    hover = "%{x:,} sentences: %{customdata}<br>"
    shared = {"legendgroup": style.name, "mode": "lines"}
    if measured:
        figure.add_scatter(
            x=[n for n, _ in measured], y=[seconds for _, seconds in measured], line=line, showlegend=False,
            customdata=[spoken(seconds) for _, seconds in measured], marker={"size": 8 if style.band else 5, "color": style.colour},
            hovertemplate=f"{hover}measured<extra>{style.name}</extra>", **(shared | {"mode": "lines+markers"}),
        )  # fmt: skip
    start = measured[-1][0] if measured else FIRST
    sizes = [int(size) for size in np.unique(np.geomspace(start, MOST_SENTENCES, POINTS).round())]  # even on the log scale
    estimates = [extrapolate(n) for n in sizes]
    if style.band and estimates[0].low is not None:
        edge = [*(e.high for e in estimates), *(e.low for e in estimates[::-1])]
        area = {"fill": "toself", "fillcolor": style.band, "hoverinfo": "skip", "showlegend": False}
        figure.add_scatter(x=[*sizes, *sizes[::-1]], y=edge, **(shared | area | {"line": {"width": 0}}))
    seconds = [estimate.seconds for estimate in estimates]
    figure.add_scatter(
        x=sizes, y=seconds, customdata=[spoken(value) for value in seconds], line=line | {"dash": "dash"}, name=style.name,
        hovertemplate=f"{hover}extrapolated<extra>{style.name}</extra>", **shared,
    )  # fmt: skip


def _paper(figure: Figure) -> None:
    points = {"65 hours": paper.CLOSEST_PAIR_SECONDS[CROSS], "5 seconds": paper.CLOSEST_PAIR_SECONDS[SBERT]}
    figure.add_scatter(
        x=[paper.CLOSEST_PAIR_SENTENCES] * len(points), y=list(points.values()), customdata=list(points), mode="markers+text",
        text=[f"paper, {text}" for text in points], textposition=["top left", "bottom right"],
        name=f"The paper: BERT-base on a {paper.CLOSEST_PAIR_HARDWARE}",
        marker={"symbol": "star", "size": 13, "color": INK, "line": {"width": 1, "color": "white"}},
        hovertemplate=f"%{{x:,}} sentences: %{{customdata}}<br>published<extra>{paper.SOURCE}</extra>",
    )  # fmt: skip
