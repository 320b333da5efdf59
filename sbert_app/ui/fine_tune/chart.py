"""Figures of a training run: training curve, and score distributions before and after."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sbert_app.labelled.example_set import Examples
from sbert_app.runs.records import Baseline, DevScore, Loss, RunState
from sbert_app.ui.kit.html import BELOW, FAR, GRID, INK, MIDDLE, TEAL, Figure, as_text, quiet

MORE_LABELS = ("#b45309", "#4f6fd0", "#8a8a94", "#7a5cc0", "#5a8f3c")
BINS = 24


def training_curve(run: RunState) -> Figure | None:
    """Loss and dev score by step, on two axes, or None as long as there is no point to draw."""
    from plotly.subplots import make_subplots

    losses, scores, before = run.of(Loss), run.of(DevScore), run.of(Baseline)
    if not losses:
        return None
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    thin: dict[str, Any] = {"mode": "lines", "line_width": 1.5}
    figure.add_scatter(x=[e.step for e in losses], y=[e.loss for e in losses], name="loss", line_color=MIDDLE, **thin)
    if before:
        figure.add_scatter(
            x=[0, losses[-1].step], y=[100 * before[-1].score] * 2, name="dev score before training",
            line_color=TEAL, line_dash="dash", secondary_y=True, **thin,
        )  # fmt: skip
    if scores:
        best = max(scores, key=lambda event: event.score)
        markers = {"size": [12 if event is best else 6 for event in scores], "color": TEAL}
        figure.add_scatter(
            x=[e.step for e in scores], y=[100 * e.score for e in scores], name="dev score (the large point is kept)",
            mode="lines+markers", line={"color": TEAL, "width": 2.5}, marker=markers, secondary_y=True,
        )  # fmt: skip
    quiet(figure, 300)
    figure.update_layout(legend=BELOW | {"y": -0.25}, hovermode="x unified", uirevision="keep")
    figure.update_xaxes(title="step", showgrid=False, zeroline=False, rangemode="tozero")
    figure.update_yaxes(title="loss", gridcolor=GRID, rangemode="tozero", zeroline=False, secondary_y=False)
    figure.update_yaxes(title="dev score ×100", showgrid=False, zeroline=False, secondary_y=True)
    return figure


def distributions(held_out: Examples, before: Sequence[float], after: Sequence[float], axis: str = "cosine") -> Figure:
    """Histograms of the held-out examples' scores before and after, by label or target, on the same scales."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.08)
    is_margin = held_out.kind in ("triplets", "positives")
    limit = max(map(abs, (*before, *after)), default=1.0) or 1.0
    edges = np.linspace(-limit if is_margin else min(0.0, *before, *after), limit, BINS + 1)  # BINS is even, so that 0 is an edge
    width = edges[1] - edges[0]
    middles = np.concatenate([[edges[0] - width / 2], (edges[:-1] + edges[1:]) / 2, [edges[-1] + width / 2]])
    for name, colour, members in _groups(held_out):
        for row, values in enumerate((before, after), 1):
            heights, _ = np.histogram(np.asarray(values)[members], edges)
            figure.add_scatter(
                x=middles, y=[0, *heights, 0], name=name, legendgroup=name, showlegend=row == 1, mode="lines", fill="tozeroy",
                line={"color": colour, "width": 2, "shape": "hvh"}, row=row, col=1,
            )  # fmt: skip
    quiet(figure, 380)
    figure.update_layout(legend=BELOW | {"y": -0.2})
    if is_margin:
        figure.add_vline(0, line={"color": INK, "dash": "dot", "width": 1})
    figure.update_xaxes(title="cosine to the positive minus cosine to the negative" if is_margin else axis, row=2, col=1)
    figure.update_xaxes(showgrid=False, zeroline=False)
    figure.update_yaxes(gridcolor=GRID, zeroline=False, rangemode="tozero", matches="y")
    figure.update_yaxes(title="examples before", row=1, col=1)
    figure.update_yaxes(title="examples after", row=2, col=1)
    return figure


def _groups(held_out: Examples) -> list[tuple[str, str, Any]]:
    """(name, colour, row mask) of each label, of each third of the range 0 to 1 of the targets, or of all examples."""
    if held_out.kind == "labelled":
        others = iter([FAR, *MORE_LABELS] * len(held_out.labels))
        colours = [TEAL if i == held_out.positive else next(others) for i in range(len(held_out.labels))]
        return [(as_text(label), colours[i], held_out.targets == i) for i, label in enumerate(held_out.labels)]
    if held_out.kind == "scored":
        gold = held_out.gold
        return [
            ("target below 1/3", FAR, gold < 1 / 3),
            ("target 1/3 to 2/3", MIDDLE, (gold >= 1 / 3) & (gold <= 2 / 3)),
            ("target above 2/3", TEAL, gold > 2 / 3),
        ]
    return [("all; correct to the right of the dotted line", TEAL, np.ones(len(held_out), dtype=bool))]
