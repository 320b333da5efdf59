"""The Similarity tab: score and explain a pair of sentences, or compare two lists."""

from dataclasses import replace
from typing import Any

import gradio as gr

from sbert_app.services.similarity import SimilarityService
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import handler, typed_text
from sbert_app.ui.similarity import chart, view

NO_OTHER = "none"
SAVED_PAIRS = 1_000
EXAMPLES = {
    "Paraphrase": ["The cat fell asleep on the warm keyboard.", "A kitten is napping on top of the laptop."],
    "One word, two meanings": ["The bank raised its interest rates again.", "We had a picnic on the bank of the river."],
    "Question and answer": ["How do I get my money back?", "Refunds are issued within five working days."],
    "Negation": ["I love this phone.", "I do not love this phone at all."],
}
LISTS = (
    "The parcel never arrived.\nHow can I change my password?\nThe app closes by itself.",
    "My delivery is lost.\nI forgot my login.\nIt keeps crashing on start.\nDo you offer student discounts?",
)


def build(service: SimilarityService, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
    """Build the tab. `opened` changes with the corpus, which calibrates the scores."""
    gr.Markdown("Compare what two sentences **mean**: each becomes a vector, and the score is their cosine.", elem_classes="lead")
    with gr.Tabs():
        with gr.Tab("Two sentences", id="pair"):
            _pair(service, session_id, model, opened)
        with gr.Tab("A list against a list", id="lists"):
            _lists(service, model)


def _pair(service: SimilarityService, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
    first, second = EXAMPLES["Paraphrase"]
    with gr.Row():
        sentence1 = gr.Textbox(first, label="First sentence", lines=2, min_width=280, elem_id="sentence1")
        sentence2 = gr.Textbox(second, label="Second sentence", lines=2, min_width=280, elem_id="sentence2")
    gr.Examples(list(EXAMPLES.values()), [sentence1, sentence2], example_labels=list(EXAMPLES), api_visibility="private")
    with gr.Accordion("Compare with another model", open=False, elem_id="beside") as accordion:
        other = gr.Dropdown([(NO_OTHER, "")], value="", label="Other model", allow_custom_value=True, elem_id="other-model")
    result = gr.HTML(elem_id="comparison", js_on_load=None)

    @handler
    def compare(sentence1: str, sentence2: str, model: str, other: str | None, session_id: str) -> str:
        if not typed_text(sentence1) or not typed_text(sentence2):
            return html.empty("Type two sentences. The score updates as you type.")
        compared = service.compare(sentence1, sentence2, model, session_id)
        if service.cross_encoder_ready:
            compared = replace(compared, cross_encoder=service.cross_encode(sentence1, sentence2))
        if other:
            compared = replace(compared, other=service.encoder_score(sentence1, sentence2, other, session_id))
        return view.comparison(compared, model)

    def list_models(model: str) -> Any:
        names = [name for name in service.encoders() if name != model]
        return gr.Dropdown(choices=[(NO_OTHER, ""), *((name, name) for name in names)])

    gr.on([accordion.expand, model.change], list_models, model, other, show_progress="hidden", api_visibility="private")
    # always_last: of the changes made while a comparison runs, only the last is sent.
    changes = [sentence1.change, sentence2.change, model.change, other.change, session_id.change, opened.change]
    inputs = [sentence1, sentence2, model, other, session_id]
    gr.on(changes, compare, inputs, result, trigger_mode="always_last", show_progress="hidden", api_visibility="private")


def _lists(service: SimilarityService, model: gr.State) -> None:
    with gr.Row():
        size: dict[str, Any] = {"lines": 5, "max_lines": 12, "min_width": 280}
        lines1 = gr.Textbox(LISTS[0], label="First list, one sentence per line", elem_id="lines1", **size)
        lines2 = gr.Textbox(LISTS[1], label="Second list, one sentence per line", elem_id="lines2", **size)
    compare = gr.Button("Compare lists", variant="primary", elem_id="compare-lists")
    summary = gr.HTML(elem_id="lists-summary", js_on_load=None)
    plot = gr.Plot(show_label=False, elem_id="heat-map", visible=False)
    pairs = gr.HTML(elem_id="pairs", js_on_load=None)

    @handler
    def on_compare(lines1: str, lines2: str, model: str) -> dict[Any, Any]:
        result = service.compare_lists(lines1, lines2, model)
        records = view.pair_records(result, SAVED_PAIRS)
        return {
            summary: view.lists_summary(result, records),
            plot: gr.Plot(chart.heat_map(result), visible=True),
            pairs: view.pair_table(records),
        }

    compare.click(on_compare, [lines1, lines2, model], [summary, plot, pairs], show_progress="hidden", api_visibility="private")
