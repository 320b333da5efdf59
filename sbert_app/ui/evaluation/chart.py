"""Quality against speed: a point for each system, a line through those that no other beats in both."""

import math

import plotly.graph_objects as go

from sbert_app.grid.result import Grid
from sbert_app.ui.evaluation.grid_view import name_of
from sbert_app.ui.kit.figures import GRID, MIDDLE, TEAL, as_text, quiet
from sbert_app.wording import digits, times_100


def chart(grid: Grid) -> go.Figure:
    """Mean of the main measures × 100 by sentences a second, of the systems that have a figure for every data set."""
    points = [(speed, 100 * mean, name_of(system)) for system, mean in grid.means().items() if (speed := grid.speed(system))]
    points.sort()
    front = _unbeaten(points)
    figure = go.Figure()
    line = {"mode": "lines", "line": {"color": TEAL, "width": 1.5, "shape": "hv"}, "hoverinfo": "skip"}
    figure.add_scatter(x=[x for x, _, _ in front], y=[y for _, y, _ in front], **line)
    figure.add_scatter(
        x=[x for x, _, _ in points], y=[y for _, y, _ in points], mode="markers+text", cliponaxis=False,
        textposition=["top center" if i % 2 else "bottom center" for i in range(len(points))],
        text=[as_text(name) for _, _, name in points],
        marker={"size": 11, "color": [TEAL if point in front else MIDDLE for point in points]},
        hovertext=[f"{as_text(name)}: {times_100(y / 100)}, {digits(x)} sentences a second" for x, y, name in points],
        hoverinfo="text",
    )  # fmt: skip
    quiet(figure, 360)
    figure.update_layout(showlegend=False, hovermode="closest", margin={"t": 30, "r": 40})
    ends = [math.log10(x) for x, _, _ in points]
    figure.update_xaxes(range=[min(ends, default=0) - 0.4, max(ends, default=0) + 0.4], dtick=1)
    figure.update_xaxes(title="sentences a second (log scale)", type="log", gridcolor=GRID, zeroline=False)
    figure.update_yaxes(title="mean × 100", gridcolor=GRID, zeroline=False)
    return figure


def _unbeaten(points: list[tuple[float, float, str]]) -> list[tuple[float, float, str]]:
    """The points for which no other is both faster and better, by speed."""
    return sorted(p for p in points if not any(o[0] >= p[0] and o[1] >= p[1] and o[:2] != p[:2] for o in points))
