"""A race as a self-contained html page."""

from html import escape

import plotly.graph_objects as go

from sbert_app.settings import ASSETS
from sbert_app.timing.result import TimingResult
from sbert_app.ui.timing import numbers_view, view

STYLE = ASSETS / "timing_page.css"


def page(result: TimingResult, sentences: int, chart: go.Figure) -> str:
    """Render the page, with plotly's script inside: about 5 MB."""
    conditions = result.conditions
    title = f"Cross-encoder against SBERT, {conditions.date}"
    numbers = numbers_view.numbers(result)
    plot = chart.to_html(full_html=False, include_plotlyjs=True, config={"displaylogo": False})
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><h1>{title}</h1>"
        f'<p class="hint">{escape(conditions.corpus)}, {conditions.sentences:,} sentences · made with SBERT Studio</p>'
        f"{view.in_words(result, sentences)}<h2>Seconds by number of sentences</h2>{plot}"
        f'<p class="hint">{view.HOW_TO_READ}</p>'
        f"<h2>Agreement and quality</h2>{view.agreement(result, live=False)}<h2>Every number</h2>{numbers}</body></html>"
    )
