"""A race as a self-contained html page."""

from typing import TYPE_CHECKING

from sbert_app.jobs.declaring import recipe
from sbert_app.jobs.declaring.recipe import Input
from sbert_app.jobs.timing import TIMING
from sbert_app.timing.result import TimingResult
from sbert_app.ui.kit.figures import PAGE_CONFIG
from sbert_app.ui.kit.html import render
from sbert_app.ui.timing import links_view, numbers_view, view

if TYPE_CHECKING:
    import plotly.graph_objects as go


def page(result: TimingResult, sentences: int, chart: "go.Figure", source: Input) -> str:
    """Render the page, with plotly's script inside: about 5 MB. source: the corpus as a file, for the command at the foot."""
    return render(
        "timing_page.html",
        title=f"Cross-encoder against SBERT, {result.conditions.date}",
        source=links_view.caption(result).source,
        in_words=view.in_words(result, sentences, with_method=False),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, config=PAGE_CONFIG),
        how_to_read=view.HOW_TO_READ,
        agreement=view.agreement(result, live=False),
        numbers=numbers_view.numbers(result),
        method=view.method(result),
        command=recipe.shell(TIMING, links_view.options(result, sentences), source),
    )
