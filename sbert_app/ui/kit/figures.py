"""What all figures share. Colours work on light and on dark ground, since a figure does not know which it is on."""

import plotly.graph_objects as go

INK = "#7c7c85"  # readable on white and on near-black
# Opaque, so that plotly can choose a readable text colour for each cell on either ground.
TEAL, FAR, MIDDLE = "#14988d", "#d0455f", "#8a8a94"  # meant to be close, far, between: readable on both grounds
GRID = "rgba(128,128,136,0.25)"


def quiet(figure: go.Figure, height: int) -> None:
    """Transparent ground, the house font, no margins of its own."""
    figure.update_layout(
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "family": "IBM Plex Sans, system-ui, sans-serif", "size": 12},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
