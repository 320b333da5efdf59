"""Panel for two lists: every sentence of one with every sentence of the other, as a heat map and a table of the closest pairs."""

from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
import numpy as np
from markupsafe import Markup

from sbert_app.jobs.similarity.job import ListComparison, compare_lists
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.take_home import Caption, pictures, present, row
from sbert_app.wording import amount

SAVED_PAIRS, SHOWN_PAIRS = 1_000, 100
HEAT_MAP, PAIRS = "heat-map", "pairs"  # the elements of the chart and of the table
SCALE = [[0, "#dcebe8"], [0.5, "#6fb3a9"], [1, "#0f5f59"]]
LABEL_LENGTH, NAMED_ROWS = 22, 16
LABELLED_CELLS = 150  # with more cells, values are shown on hover only
LISTS = (
    "The parcel never arrived.\nHow can I change my password?\nThe app closes by itself.",
    "My delivery is lost.\nI forgot my login.\nIt keeps crashing on start.\nDo you offer student discounts?",
)


class ListsPanel:
    def __init__(self, bench: Workbench, model: gr.State) -> None:
        self._bench = bench
        with gr.Row():
            size: dict[str, Any] = {"lines": 5, "max_lines": 12, "min_width": 280}
            self.lines1 = gr.Textbox(LISTS[0], label="First list, one sentence per line", elem_id="lines1", **size)
            self.lines2 = gr.Textbox(LISTS[1], label="Second list, one sentence per line", elem_id="lines2", **size)
        self.compare = gr.Button("Compare lists", variant="primary", elem_id="compare-lists")
        self.summary = gr.HTML(elem_id="lists-summary", js_on_load=None)
        self.plot = gr.Plot(show_label=False, elem_id=HEAT_MAP, visible=False)
        self.pairs = gr.HTML(elem_id=PAIRS, js_on_load=None)
        outputs = [self.summary, self.plot, self.pairs]
        compared = self.compare.click(handler(self._on_compare), [self.lines1, self.lines2, model], outputs, **PRIVATE)
        # The result of earlier lists or of another model must not stay below an error, nor below another model's name.
        compared.failure(self._clear, None, outputs, **PRIVATE)
        model.change(self._clear, None, outputs, **PRIVATE)

    def _on_compare(self, lines1: str, lines2: str, model: str) -> Updates:
        result = compare_lists(self._bench, lines1, lines2, model)
        records = result.records(SAVED_PAIRS)
        rows = [(str(r["rank"]), f"{r['score']:.4f}", r["sentence1"], r["sentence2"]) for r in records[:SHOWN_PAIRS]]
        table = html.table(("#", "Score", "First list", "Second list"), rows)
        return {
            self.summary: summary(result, records, model),
            self.plot: gr.Plot(heat_map(result), visible=True),
            self.pairs: Markup('<div class="pairs" tabindex="0">{}</div>').format(table),
        }

    def _clear(self) -> Updates:
        return {self.summary: "", self.plot: gr.Plot(visible=False), self.pairs: ""}


def summary(result: ListComparison, records: Sequence[Mapping[str, object]], model: str) -> Markup:
    """Number of pairs, time, and downloads, also of the heat map."""
    count = result.scores.size
    text = f"{amount(count, 'pair')} in {result.milliseconds:.1f} ms"
    if count > SHOWN_PAIRS:
        text += f" · the closest {SHOWN_PAIRS} are listed, {len(records):,} are in the download"
    caption = Caption.of("Cosine of every sentence of one list with every sentence of the other", model)
    links = row(caption, [HEAT_MAP, PAIRS], present(), pictures(HEAT_MAP, "sbert-studio-heat-map"))
    return html.head(text, html.downloads("pairs", records)) + links


def heat_map(result: ListComparison) -> html.Figure:
    """The cosine of every pair of sentences as a colour."""
    import plotly.graph_objects as go

    labelled = result.scores.size <= LABELLED_CELLS
    heat = go.Heatmap(
        z=np.round(result.scores, 3) + 0.0, zmin=0, zmax=1, colorscale=SCALE, showscale=not labelled,
        text=np.round(result.scores, 2) + 0.0,  # a zero without a sign
        texttemplate="%{text:.2f}" if labelled else None, xgap=2 if labelled else 0, ygap=2 if labelled else 0,
        x=[str(i) for i in range(1, len(result.sentences2) + 1)], y=_labels(result.sentences1, NAMED_ROWS),
        customdata=[_labels(result.sentences2, len(result.sentences2))] * len(result.sentences1),
        colorbar={"title": {"text": "cosine", "side": "right"}, "thickness": 10, "outlinewidth": 0},
        hovertemplate="first list: %{y}<br>second list: %{customdata}<br>cosine %{z:.3f}<extra></extra>",
    )  # fmt: skip
    figure = go.Figure(heat)
    html.quiet(figure, 110 + min(34 * len(result.sentences1), 640))
    title = None if len(result.sentences1) <= NAMED_ROWS else "line of the first list"
    figure.update_yaxes(title=title, autorange="reversed", automargin=True, showgrid=False, type="category")
    figure.update_xaxes(title="line of the second list", automargin=True, showgrid=False, type="category")
    return figure


def _labels(sentences: list[str], most: int) -> list[str]:
    """Numbered short labels (plotly merges equal ones); beyond `most` sentences only the numbers."""
    if len(sentences) > most:
        return [str(i) for i in range(1, len(sentences) + 1)]
    return [f"{i}. {html.as_text(html.short(text, LABEL_LENGTH))}" for i, text in enumerate(sentences, 1)]
