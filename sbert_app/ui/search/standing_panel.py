"""The fold of the Search tab that says why an expected row is not among the hits."""

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus.ranking.missed import BM25, CUT, MEANING, TOGETHER, WORD_BY_WORD, Miss, Standing, quoted
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.search.why_not import WhyNotOptions, why_not
from sbert_app.runtime.workbench import Workbench
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, dimming, handler

ANSWER = "standing-answer"
TEXT_LENGTH = 300  # characters of the row's text
WAYS = {
    MEANING: "By meaning (cosine)",
    BM25: "By words (BM25)",
    TOGETHER: "Both together (sum of z-scores)",
    WORD_BY_WORD: "Word by word (MaxSim)",
}
Asked = Callable[[Values], dict[str, Any]]  # what is searched for and how, by the names of the options


class StandingPanel:
    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        with gr.Accordion("Expected another row?", open=False, elem_id="standing") as self.block:
            with gr.Row(elem_classes="query-row"):
                self.expected = gr.Textbox(
                    label="Its row number or its text", lines=1, max_lines=1, scale=6, min_width=220, elem_id="expected"
                )
                self.go = gr.Button("Why was it not found?", scale=0, min_width=190, elem_id="why-not")
            self.answer = gr.HTML(elem_id=ANSWER, js_on_load=None)

    def listen(self, asked: Asked, session: gr.State, inputs: set[Any], hits: gr.HTML) -> None:
        """Answer for the search that the inputs describe; other hits take the answer away."""

        def on_asked(values: Values) -> Updates:
            search = read(WhyNotOptions, asked(values) | {"expected": values[self.expected]}, self._bench.settings.limits)
            return {self.answer: answer(why_not(self._bench, values[session], search))}

        dimming(ANSWER, gr.on, [self.expected.submit, self.go.click], handler(on_asked), {*inputs, self.expected}, [self.answer])
        hits.change(None, None, self.answer, js="() => ''", **PRIVATE)


def answer(miss: Miss) -> Markup:
    """The reason in one sentence, the row's text, a table of ranks, and what else is known."""
    parts = [Markup('<p class="standing-reason">{}</p>').format(miss.in_words)]
    if not miss.in_corpus:
        parts.insert(0, Markup("<p>{}</p>").format(f"The corpus holds no such text; the most similar row is {miss.row:,}."))
    if miss.sentence:
        text = html.short(miss.sentence, TEXT_LENGTH)
        parts.append(Markup('<p class="standing-text" dir="auto"><span>row {}</span> {}</p>').format(f"{miss.row:,}", text))
    if miss.standings:
        among = f"rank of {miss.of:,}{' without filters' if miss.filters else ''}"
        parts.append(html.table(["ranked", among, "score"], [_line(standing) for standing in miss.standings]))
    return Markup('<div class="standing" role="status">{}{}</div>').format(Markup().join(parts), html.notes(_notes(miss)))


def _line(standing: Standing) -> list[str]:
    rank = "–" if standing.rank is None else f"{standing.rank:,}"
    score = "" if standing.score is None else f"{standing.score:.3f}"
    return [WAYS[standing.way], rank, " · ".join(filter(None, [score, standing.note]))]


def _notes(miss: Miss) -> Iterator[str]:
    words = miss.words
    if words.shared or words.lacking:
        has, lacks = (quoted(group) or "none" for group in (words.shared, words.lacking))
        yield f"Words of the query that the row has: {has}. That it lacks: {lacks}."
    for word, meant in words.typos.items():
        yield f"No row has “{word}”; “{meant}” occurs."
    if miss.read < miss.length and miss.reason != CUT:
        yield f"The model reads the first {miss.read:,} of its {miss.length:,} characters."
