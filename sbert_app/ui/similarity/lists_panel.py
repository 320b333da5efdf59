"""Panel for two lists: every sentence of one with every sentence of the other."""

from typing import Any

import gradio as gr

from sbert_app.services.similarity import SimilarityService
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.similarity import chart, lists_view

SAVED_PAIRS = 1_000
LISTS = (
    "The parcel never arrived.\nHow can I change my password?\nThe app closes by itself.",
    "My delivery is lost.\nI forgot my login.\nIt keeps crashing on start.\nDo you offer student discounts?",
)


class ListsPanel:
    """Components and event handlers."""

    def __init__(self, service: SimilarityService, model: gr.State) -> None:
        self._service = service
        with gr.Row():
            size: dict[str, Any] = {"lines": 5, "max_lines": 12, "min_width": 280}
            self.lines1 = gr.Textbox(LISTS[0], label="First list, one sentence per line", elem_id="lines1", **size)
            self.lines2 = gr.Textbox(LISTS[1], label="Second list, one sentence per line", elem_id="lines2", **size)
        self.compare = gr.Button("Compare lists", variant="primary", elem_id="compare-lists")
        self.summary = gr.HTML(elem_id="lists-summary", js_on_load=None)
        self.plot = gr.Plot(show_label=False, elem_id=lists_view.HEAT_MAP, visible=False)
        self.pairs = gr.HTML(elem_id="pairs", js_on_load=None)
        self._listen(model)

    def _listen(self, model: gr.State) -> None:
        outputs = [self.summary, self.plot, self.pairs]
        compared = self.compare.click(handler(self._on_compare), [self.lines1, self.lines2, model], outputs, **PRIVATE)
        # The result of earlier lists or of another model must not stand below an error, nor below another model's name.
        compared.failure(self._clear, None, outputs, **PRIVATE)
        model.change(self._clear, None, outputs, **PRIVATE)

    def _on_compare(self, lines1: str, lines2: str, model: str) -> Updates:
        result = self._service.compare_lists(lines1, lines2, model)
        records = lists_view.pair_records(result, SAVED_PAIRS)
        return {
            self.summary: lists_view.summary(result, records, model),
            self.plot: gr.Plot(chart.heat_map(result), visible=True),
            self.pairs: lists_view.pair_table(records),
        }

    def _clear(self) -> Updates:
        return {self.summary: "", self.plot: gr.Plot(visible=False), self.pairs: ""}
