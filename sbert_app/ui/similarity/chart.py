"""Heat map of the similarities of two lists."""

from typing import TYPE_CHECKING

import numpy as np

from sbert_app.services.similarity import ListComparison
from sbert_app.ui.kit.figures import as_text, quiet

if TYPE_CHECKING:
    import plotly.graph_objects as go

SCALE = [[0, "#dcebe8"], [0.5, "#6fb3a9"], [1, "#0f5f59"]]
LABEL_LENGTH = 22
NAMED_ROWS = 16
LABELLED_CELLS = 150  # with more cells, values are shown on hover only


def heat_map(result: ListComparison) -> "go.Figure":
    """The cosine of every pair of sentences as a colour."""
    import plotly.graph_objects as go

    labelled = result.scores.size <= LABELLED_CELLS
    figure = go.Figure(
        go.Heatmap(
            z=np.round(result.scores, 3) + 0.0,
            text=np.round(result.scores, 2) + 0.0,  # a zero without a sign
            x=[str(i) for i in range(1, len(result.sentences2) + 1)],
            y=_labels(result.sentences1, NAMED_ROWS),
            customdata=[_labels(result.sentences2, len(result.sentences2))] * len(result.sentences1),
            zmin=0,
            zmax=1,
            colorscale=SCALE,
            texttemplate="%{text:.2f}" if labelled else None,
            xgap=2 if labelled else 0,
            ygap=2 if labelled else 0,
            showscale=not labelled,
            colorbar={"title": {"text": "cosine", "side": "right"}, "thickness": 10, "outlinewidth": 0},
            hovertemplate="first list: %{y}<br>second list: %{customdata}<br>cosine %{z:.3f}<extra></extra>",
        )
    )
    quiet(figure, 110 + min(34 * len(result.sentences1), 640))
    title = None if len(result.sentences1) <= NAMED_ROWS else "line of the first list"
    figure.update_yaxes(title=title, autorange="reversed", automargin=True, showgrid=False, type="category")
    figure.update_xaxes(title="line of the second list", automargin=True, showgrid=False, type="category")
    return figure


def _labels(sentences: list[str], most: int) -> list[str]:
    """Numbered short labels (plotly merges equal ones); beyond `most` sentences only the numbers."""
    if len(sentences) > most:
        return [str(i) for i in range(1, len(sentences) + 1)]
    shortened = (s if len(s) <= LABEL_LENGTH else s[: LABEL_LENGTH - 1] + "…" for s in sentences)
    return [f"{i}. {as_text(text)}" for i, text in enumerate(shortened, 1)]
