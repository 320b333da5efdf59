"""The Similarity tab: score and explain a pair of sentences, compare two lists, or score a file of pairs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.similarity import SimilarityOptions, compare, compare_lists
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.header import scorer_choices, second_opinion
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, dimming, handler, typed_text
from sbert_app.ui.similarity import detail_view, view
from sbert_app.ui.similarity.file_panel import FilePanel

NO_OTHER = ("none", "")
EMPTY = "Type two sentences. The score updates as you type."
# "late" is a custom event: the cross-encoder was not loaded yet, so the comparison is made again.
LATE = "setInterval(() => element.querySelector('.late') && trigger('late'), 1500)"
SHOW_ALL = "Show special tokens, punctuation and function words such as “the” too"
EXAMPLES = {
    "Paraphrase": ["The cat fell asleep on the warm keyboard.", "A kitten is napping on the keyboard because it is warm."],
    "One word, two meanings": ["The bank raised its interest rates again.", "We had a picnic on the bank of the river."],
    "Question and answer": ["How do I get my money back?", "Refunds are issued within five working days."],
    "Negation": ["I love this phone.", "I do not love this phone at all."],
}
LISTS = (
    "The parcel never arrived.\nHow can I change my password?\nThe app closes by itself.",
    "My delivery is lost.\nI forgot my login.\nIt keeps crashing on start.\nDo you offer student discounts?",
)


def build(bench: Workbench, session: gr.State, model: gr.State) -> "PairPanel":
    """Build the tab; events of the panel that it returns are connected later."""
    gr.Markdown("Compare what two sentences **mean**: each becomes a vector, and the score is their cosine.", elem_classes="lead")
    with gr.Tabs():
        with gr.Tab("Two sentences", id="pair"):
            pair = PairPanel(bench)
        with gr.Tab("Two lists", id="lists"):
            ListsPanel(bench, model)
        with gr.Tab("A file of pairs", id="pair-file"):
            FilePanel(bench, session, model)
    return pair


class PairPanel:
    """Two sentences: the answer follows the typing, details are folded. Nothing is kept between two requests."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        first, second = EXAMPLES["Paraphrase"]
        with gr.Row():
            self.sentence1 = gr.Textbox(first, label="First sentence", lines=2, min_width=280, elem_id="sentence1")
            self.sentence2 = gr.Textbox(second, label="Second sentence", lines=2, min_width=280, elem_id="sentence2")
        boxes = [self.sentence1, self.sentence2]
        gr.Examples(list(EXAMPLES.values()), boxes, example_labels=list(EXAMPLES), api_visibility="private")
        self.result = gr.HTML(view.SKELETON, elem_id=view.COMPARISON, js_on_load=LATE)
        with gr.Accordion("Details: word by word, other measures, times", open=False, elem_id="details"):
            gr.Checkbox(label=SHOW_ALL, elem_id="all-words")  # read by the style sheet alone
            self.details = gr.HTML(elem_id="why", js_on_load=None)
        with gr.Accordion("Compare with another model", open=False, elem_id="beside") as self.beside, gr.Row():
            self.other = gr.Dropdown([NO_OTHER], label="Other model", allow_custom_value=True, min_width=280, elem_id="other-model")
            self.cross = second_opinion("pair-cross")

    def listen(self, session: gr.State, model: gr.State, after_opening: Callable[..., Any]) -> None:
        """Connect events. after_opening: once Search has answered in another corpus, which calibrates the scores."""
        gr.on([self.beside.expand, model.change], self._list_models, model, [self.other, self.cross], **PRIVATE)
        late = gr.State(0)
        self.result.late(lambda times: times + 1, late, late, **PRIVATE)
        # always_last: of the changes made while a comparison runs, only the last is sent.
        boxes: list[Any] = [self.sentence1, self.sentence2, self.other, self.cross]
        changes = [*(box.change for box in boxes), model.change, session.change, late.change]
        work, outputs = handler(self._on_change, early=True), [self.result, self.details]
        for trigger in (partial(gr.on, changes), after_opening):
            compared = dimming(view.COMPARISON, trigger, work, [*boxes, model, session], outputs, trigger_mode="always_last")
            compared.failure(lambda: ("", ""), None, outputs, **PRIVATE)  # not the result of earlier sentences

    def _on_change(self, first: str, second: str, other: str | None, cross: str | None, model: str, session: Session) -> Updates:
        if not typed_text(first) or not typed_text(second):
            return {self.result: html.empty(EMPTY), self.details: html.hint(EMPTY)}
        options = read(SimilarityOptions, {"sentence1": first, "sentence2": second}, self._bench.settings.limits)
        options = replace(options, model=model, cross_encoder=cross or DEFAULT_CROSS_ENCODER)
        compared = compare(self._bench, session, options, other or "", wait=False)
        answer = view.comparison(compared, model) + view.links(first, second, model, compared.cross_encoder)
        return {self.result: answer, self.details: detail_view.details(compared, model)}

    def _list_models(self, model: str) -> Any:
        others = gr.Dropdown(choices=[NO_OTHER, *(name for name in self._bench.registry.encoders() if name != model)])
        return others, gr.Dropdown(choices=scorer_choices(self._bench.registry.pair_scorers()))


class ListsPanel:
    def __init__(self, bench: Workbench, model: gr.State) -> None:
        self._bench = bench
        with gr.Row():
            size: dict[str, Any] = {"lines": 5, "max_lines": 12, "min_width": 280}
            self.lines1 = gr.Textbox(LISTS[0], label="First list, one sentence per line", elem_id="lines1", **size)
            self.lines2 = gr.Textbox(LISTS[1], label="Second list, one sentence per line", elem_id="lines2", **size)
        self.compare = gr.Button("Compare lists", variant="primary", elem_id="compare-lists")
        self.summary = gr.HTML(elem_id="lists-summary", js_on_load=None)
        self.plot = gr.Plot(show_label=False, elem_id=view.HEAT_MAP, visible=False)
        self.pairs = gr.HTML(elem_id=view.PAIRS, js_on_load=None)
        outputs = [self.summary, self.plot, self.pairs]
        compared = self.compare.click(handler(self._on_compare), [self.lines1, self.lines2, model], outputs, **PRIVATE)
        # The result of earlier lists or of another model must not stay below an error, nor below another model's name.
        compared.failure(self._clear, None, outputs, **PRIVATE)
        model.change(self._clear, None, outputs, **PRIVATE)

    def _on_compare(self, lines1: str, lines2: str, model: str) -> Updates:
        result = compare_lists(self._bench, lines1, lines2, model)
        summary, table = view.lists(result, model)
        return {self.summary: summary, self.plot: gr.Plot(view.heat_map(result), visible=True), self.pairs: table}

    def _clear(self) -> Updates:
        return {self.summary: "", self.plot: gr.Plot(visible=False), self.pairs: ""}
