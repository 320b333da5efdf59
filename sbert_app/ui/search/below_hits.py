"""What can be asked below the hits: which rows lie above a score, all of them, and why a row is not among the hits."""

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus.filters import in_words
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.search.job import SEARCH, SearchOptions, search
from sbert_app.jobs.search.open_corpus import Within
from sbert_app.jobs.search.why_not import WhyNotOptions, why_not
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, dimming, handler
from sbert_app.ui.kit.take_home import Caption, commands, input_of, present, row
from sbert_app.ui.search import view

ABOVE, WHY = "above-answer", "standing-answer"
LEAST = 0.4  # before a corpus says which hits are weak

Asked = Callable[[Values], dict[str, Any]]  # the options of a search, by their names


def links(session: Session, title: str, elem_id: str, request: Mapping[str, Any]) -> Markup:
    """To take a result of Search along. elem_id: where it is; request: the options that make it again."""
    indexed, within = session.corpus(), session.get(Within)
    copies = Markup() if within else commands(SEARCH, request, input_of(indexed))  # no command knows the map
    title += f" · Inside: {within.title}" if within else ""
    return row(Caption.of(title, indexed.corpus.name, indexed.model), [elem_id], present(), copies)


class AbovePanel:
    """Counts all rows with a cosine of at least a number, and gives them as a file."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        with gr.Accordion("All rows above a score", open=False, elem_id="above") as self.block:
            with gr.Row(elem_classes="query-row"):
                self.least = gr.Number(LEAST, label="Cosine of at least", step=0.01, scale=6, elem_id="least")
                self.go = gr.Button("Count them", scale=0, min_width=190, elem_id="count-above")
            self.answer = gr.HTML(elem_id=ABOVE, js_on_load=None)

    def of_corpus(self, offered: bool, weak: float | None) -> Updates:
        """For an opened corpus. weak: the cosine below which its hits are; -1: unknown; None: what is typed by now stays."""
        least = {} if weak is None else {self.least: round(weak, 2) if weak > 0 else LEAST}
        return {self.block: gr.Accordion(visible=offered), **least}

    def listen(self, asked: Asked, session: gr.State, inputs: set[Any], hits: gr.HTML) -> None:
        """Answer for the search that the inputs describe; other hits take the answer away."""

        def on_asked(values: Values) -> Updates:
            return {self.answer: self._counted(values[session], asked(values) | {"ranking": "", "least": values[self.least]})}

        dimming(ABOVE, gr.on, [self.least.submit, self.go.click], handler(on_asked), {*inputs, self.least}, [self.answer])
        hits.change(None, None, self.answer, js="() => ''", **PRIVATE)

    def _counted(self, session: Session, asked: dict[str, Any]) -> Markup:
        options = read(SearchOptions, asked, self._bench.settings.limits)
        result = search(self._bench, session, options)
        request = {name: asked[name] for name in ("query", "least", "filters") if asked[name] != {}}
        title = " · ".join(filter(None, [f"All rows near: {options.query}", in_words(options.filters or {})]))
        counted = view.above(result.counted(options.least or 0.0), result, session.corpus().corpus.form.delimiter)
        return counted + links(session, title, ABOVE, request)


class StandingPanel:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        with gr.Accordion("Expected another row?", open=False, elem_id="standing") as self.block:
            with gr.Row(elem_classes="query-row"):
                self.expected = gr.Textbox(
                    label="Its row number or its text", lines=1, max_lines=1, scale=6, min_width=220, elem_id="expected"
                )
                self.go = gr.Button("Why was it not found?", scale=0, min_width=190, elem_id="why-not")
            self.answer = gr.HTML(elem_id=WHY, js_on_load=None)

    def listen(self, asked: Asked, session: gr.State, inputs: set[Any], hits: gr.HTML) -> None:
        """Answer for the search that the inputs describe; other hits take the answer away."""

        def on_asked(values: Values) -> Updates:
            search = read(WhyNotOptions, asked(values) | {"expected": values[self.expected]}, self._bench.settings.limits)
            return {self.answer: view.missed(why_not(self._bench, values[session], search))}

        dimming(WHY, gr.on, [self.expected.submit, self.go.click], handler(on_asked), {*inputs, self.expected}, [self.answer])
        hits.change(None, None, self.answer, js="() => ''", **PRIVATE)
