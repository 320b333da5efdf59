"""Cluster colours for map and list, distinguishable on light and dark."""

PALETTE = (
    "#14988d", "#d97706", "#4f6fd0", "#d0455f", "#7a5cc0", "#5a8f3c", "#c2479d", "#a3584a", "#3f9fd0", "#8a8f1f",
    "#e5806a", "#2f6f9f", "#b07cd8", "#2f9e62", "#c9a227", "#9a3b6b", "#6fb1a0", "#8d6e9f", "#b5651d", "#7f9fd8",
)  # fmt: skip
GREY = "#8a8a94"  # outliers, and points during the layout
