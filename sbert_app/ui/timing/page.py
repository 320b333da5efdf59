"""A race as a self-contained html page."""

import plotly.graph_objects as go

from sbert_app.timing.result import TimingResult
from sbert_app.ui.kit.figures import PAGE_CONFIG
from sbert_app.ui.kit.templates import render
from sbert_app.ui.timing import numbers_view, view


def page(result: TimingResult, sentences: int, chart: go.Figure) -> str:
    """Render the page, with plotly's script inside: about 5 MB."""
    conditions = result.conditions
    return render(
        "timing_page.html",
        title=f"Cross-encoder against SBERT, {conditions.date}",
        corpus=conditions.corpus,
        sentences=f"{conditions.sentences:,}",
        in_words=view.in_words(result, sentences),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, config=PAGE_CONFIG),
        how_to_read=view.HOW_TO_READ,
        agreement=view.agreement(result, live=False),
        numbers=numbers_view.numbers(result),
    )
