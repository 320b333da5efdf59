"""Under the hits: a row or text that was expected, and why it is not among them."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from sbert_app.services.corpus.standing import StandingService
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, busy, handler, no_longer_busy
from sbert_app.ui.search import standing_view
from sbert_app.ui.search.options import Options

ANSWER = "standing-answer"
Request = Callable[[Values], tuple[str, str, int, dict[str, Any]]]  # values -> session, query, number of hits, filters


class StandingPanel:
    """A folded block, without visitors' data."""

    def __init__(self, service: StandingService) -> None:
        self._service = service
        with gr.Accordion("Expected another row?", open=False, elem_id="standing") as self.block:
            with gr.Row(elem_classes="query-row"):
                self.expected = gr.Textbox(
                    label="Its row number or its text", lines=1, max_lines=1, scale=6, min_width=220, elem_id="expected"
                )
                self.go = gr.Button("Why was it not found?", scale=0, min_width=190, elem_id="why-not")
            self.answer = gr.HTML(elem_id=ANSWER, js_on_load=None)

    def listen(self, request: Request, inputs: set[Any], options: Options, hits: gr.HTML) -> None:
        """Answer for the search that the inputs describe; other hits take the answer away."""

        def on_asked(values: Values) -> Updates:
            session_id, query, top, filters = request(values)
            miss = self._service.why_not(session_id, query, values[self.expected], top, filters, values[options.ranking])
            return {self.answer: standing_view.answer(miss)}

        triggers = [self.expected.submit, self.go.click]
        answered = gr.on(triggers, handler(on_asked), {*inputs, self.expected}, [self.answer], **busy(ANSWER))
        no_longer_busy(answered, ANSWER)
        hits.change(None, None, self.answer, js="() => ''", **PRIVATE)
