"""Style shared by all figures. Colours are readable on light and dark, because a figure has no access to the theme."""

from typing import Any

from markupsafe import escape

Figure = Any  # of plotly, which has no types and is imported where a figure is drawn: the first page does not need it
INK = "#7c7c85"
TEAL, FAR, MIDDLE = "#14988d", "#d0455f", "#8a8a94"  # pairs meant to be close, far, between; opaque, for readable text on them
# Clusters, distinguishable on light and dark.
PALETTE = (
    "#14988d", "#d97706", "#4f6fd0", "#d0455f", "#7a5cc0", "#5a8f3c", "#c2479d", "#a3584a", "#3f9fd0", "#8a8f1f",
    "#e5806a", "#2f6f9f", "#b07cd8", "#2f9e62", "#c9a227", "#9a3b6b", "#6fb1a0", "#8d6e9f", "#b5651d", "#7f9fd8",
)  # fmt: skip
GREY = "#8a8a94"  # outliers, and points during the layout
GRID = "rgba(128,128,136,0.25)"
# Of charts in exported pages: without plotly's buttons, which lie over data and titles. In the app assets/style.css hides them.
PAGE_CONFIG = {"displaylogo": False, "displayModeBar": False}


def as_text(text: str) -> str:
    """Escape a text for a figure: plotly reads tags and entities in names, labels and hover texts."""
    return str(escape(text))


def quiet(figure: Figure, height: int | None) -> None:
    """Set a transparent background, the app's font and small margins. height: pixels; None: that of its place on the page."""
    figure.update_layout(
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "family": "IBM Plex Sans, system-ui, sans-serif", "size": 12},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
