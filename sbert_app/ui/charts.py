"""Plotly figures. Colours work on light and on dark ground, since a figure does not know which it is on."""

import plotly.graph_objects as go

from sbert_app.services.similarity import ListComparison

INK = "#7c7c85"  # readable on white and on near-black
LABEL_LENGTH = 32
LABELLED_CELLS = 150  # more numbers than this no one reads


def heat_map(result: ListComparison) -> go.Figure:
    """Every sentence of one list against every sentence of the other, cosine as colour."""
    figure = go.Figure(
        go.Heatmap(
            z=result.scores.round(3),
            x=_labels(result.sentences2),
            y=_labels(result.sentences1),
            zmin=0,
            zmax=1,
            colorscale=[[0, "rgba(20,184,166,0)"], [1, "rgba(20,184,166,1)"]],
            text=result.scores.round(2) if result.scores.size <= LABELLED_CELLS else None,
            texttemplate="%{text:.2f}" if result.scores.size <= LABELLED_CELLS else None,
            xgap=2,
            ygap=2,
            colorbar={"title": "cosine", "thickness": 12},
            hovertemplate="%{y}<br>%{x}<br>cosine %{z:.3f}<extra></extra>",
        )
    )
    figure.update_layout(
        height=190 + 34 * min(len(result.sentences1), 40),
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": INK, "family": "IBM Plex Sans, system-ui, sans-serif", "size": 12},
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
    )
    figure.update_yaxes(autorange="reversed", automargin=True, showgrid=False)
    figure.update_xaxes(automargin=True, tickangle=-35, showgrid=False)
    return figure


def _labels(sentences: list[str]) -> list[str]:
    """Short and numbered: equal labels would fall on one another."""
    shortened = (s if len(s) <= LABEL_LENGTH else s[: LABEL_LENGTH - 1] + "…" for s in sentences)
    return [f"{i}. {text}" for i, text in enumerate(shortened, 1)]
