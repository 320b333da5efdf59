"""The colours of clusters, on the map and in the list beside it: told apart on white and on near-black."""

PALETTE = (
    "#14988d", "#d97706", "#4f6fd0", "#d0455f", "#7a5cc0", "#5a8f3c", "#c2479d", "#3b8fb8", "#a8741a", "#2f9e62",
    "#e0654a", "#8e6fd8", "#6b8e9e", "#b8558a", "#7f8f1f", "#4682d9", "#c46a3a", "#339a9a", "#a05fc0", "#a3584a",
)  # fmt: skip
GREY = "#8a8a94"  # outliers, and points that have no colour yet
