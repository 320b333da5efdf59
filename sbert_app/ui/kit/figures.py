"""Style shared by all figures. Colours are readable on light and dark, because a figure has no access to the theme."""

from typing import TYPE_CHECKING

from markupsafe import escape

if TYPE_CHECKING:
    import plotly.graph_objects as go

INK = "#7c7c85"
TEAL, FAR, MIDDLE = "#14988d", "#d0455f", "#8a8a94"  # pairs meant to be close, far, between; opaque, for readable text on them
GRID = "rgba(128,128,136,0.25)"
# Of charts in exported pages: without plotly's buttons, which lie over data and titles. In the app assets/style.css hides them.
PAGE_CONFIG = {"displaylogo": False, "displayModeBar": False}


def as_text(text: str) -> str:
    """Escape a text for a figure: plotly reads tags and entities in names, labels and hover texts."""
    return str(escape(text))


def quiet(figure: "go.Figure", height: int | None) -> None:
    """Set a transparent background, the app's font and small margins. height: pixels; None: that of its place on the page."""
    figure.update_layout(
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "family": "IBM Plex Sans, system-ui, sans-serif", "size": 12},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
