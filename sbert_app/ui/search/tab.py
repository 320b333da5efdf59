"""The Search tab: search the open corpus by meaning."""

from typing import Any

import gradio as gr

from sbert_app.services.bundle import Services
from sbert_app.services.search import FORMER_MODEL, RERANKED, WORDS_ALONE
from sbert_app.ui.corpus.start import corpus_start
from sbert_app.ui.corpus.view import card
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, handler, typed_text
from sbert_app.ui.search import view
from sbert_app.ui.search.filters import Filters

LEAD = "Find sentences by what they **mean**, in your own file: different words, same idea."
NOTHING = ""
BESIDE = [("nothing", NOTHING), ("plain word search (BM25)", WORDS_ALONE)]
BESIDE_CHIPS = {WORDS_ALONE: "word search", FORMER_MODEL: "former index"}
# "picked" is a custom event: a row to look for more like it, or a filter to remove.
PICKED = """
element.addEventListener('click', event => {
  const button = event.target.closest('button[data-row], button[data-filter]');
  if (button) trigger('picked', {row: Number(button.dataset.row), filter: button.dataset.filter});
});
studio.follow(element);
"""


class SearchTab:
    """Components and event handlers, without visitors' data.

    `query`: the text box, which a reload fills again. `start`: the choice of corpora while none is open, listed anew for each page.
    """

    def __init__(self, services: Services, session_id: gr.State, opened: gr.State) -> None:
        self._service, self._corpora, self._session_id = services.search, services.corpora, session_id
        gr.Markdown(LEAD, elem_classes="lead")
        self.start = corpus_start(services.corpora, opened)
        with gr.Column(visible=False, elem_id="search-body") as self.body:
            self._draw()
        self._listen(opened)

    def _draw(self) -> None:
        self.status = gr.HTML(elem_id="status", js_on_load=None)
        with gr.Row(elem_classes="query-row"):
            self.query = gr.Textbox(
                label="Query",
                placeholder="What are you looking for?",
                lines=1,
                max_lines=1,
                scale=6,
                min_width=260,
                elem_id="query",
            )
            self.go = gr.Button("Search", variant="primary", scale=0, min_width=120, elem_id="search")
        self.chips = gr.HTML(elem_id="chips", js_on_load=PICKED)
        with gr.Accordion("Options and filters", open=False, elem_id="options"):
            self._draw_options()
        self.hits = gr.HTML(elem_id="hits", js_on_load=PICKED)

    def _draw_options(self) -> None:
        self.top = gr.Slider(1, 100, 10, step=1, label="Hits", elem_id="top")
        self.hybrid = gr.Checkbox(label="Hybrid: combine with keyword search (BM25)", elem_id="hybrid")
        self.rerank = gr.Checkbox(
            label=f"Re-rank the best {RERANKED} hits with the cross-encoder",
            info="The bundled one was trained on sentence similarity, not on ranking answers: check whether it helps on your data.",
            elem_id="rerank",
        )
        self.beside = gr.Radio(
            BESIDE, value=NOTHING, label="Beside the hits, to compare", elem_id="beside-hits",
            info="To compare two models, choose another one in the header and index the corpus again.",
        )  # fmt: skip
        # Chip name -> switch, and label of its chip.
        self._switches = {
            "hybrid": (self.hybrid, "Hybrid"),
            "rerank": (self.rerank, "Re-ranked"),
        }
        self.filters = Filters()

    def _listen(self, opened: gr.State) -> None:
        switches: list[Any] = [self.hybrid, self.rerank, self.beside]
        filters = self.filters.components
        everything = {self._session_id, self.query, self.top, *switches, *filters}
        answer = [self.chips, self.hits]
        shown = [self.body, self.status, self.query, self.beside, *answer, *filters]
        opened.change(handler(self._on_opened), {self._session_id, self.query}, shown, **PRIVATE)
        gr.on(
            [self.query.submit, self.go.click, self.top.release, *(switch.input for switch in switches), *self.filters.changes],
            handler(self._on_search), everything, answer, trigger_mode="always_last", **PRIVATE,
        )  # fmt: skip
        self.hits.picked(handler(self._on_more_like), everything, [self.query, *answer], **PRIVATE)
        self.chips.picked(handler(self._on_removed), everything, [*switches, *filters, *answer], **PRIVATE)

    def _on_opened(self, values: Values) -> Updates:
        """Another corpus: show its filters and search it with the typed query or, for an example, with the example's."""
        session_id = values[self._session_id]
        indexed = self._corpora.current(session_id)
        if indexed is None:
            return {self.body: gr.Column(visible=False)}
        typed = typed_text(values[self.query])
        query = self._service.first_query(session_id, typed)
        return {
            self.body: gr.Column(visible=True),
            self.status: card(indexed, self._corpora.last_indexing(session_id)),
            self.query: query if query != typed else gr.skip(),
            self.hits: view.results(self._service.search(session_id, query)) if query else html.empty(view.NO_QUERY),
            self.chips: "",
            self.beside: self._choices(session_id),
            **self.filters.of_corpus(*self._service.filters(session_id)),
        }

    def _choices(self, session_id: str) -> Any:
        """What can stand beside the hits: the former index too, if the corpus was indexed again."""
        model = self._service.former_model(session_id)
        return gr.Radio(choices=[*BESIDE, *([(f"the index before, {model}", FORMER_MODEL)] if model else [])], value=NOTHING)

    def _on_search(self, values: Values) -> Updates:
        session_id, query, top, filters = self._request(values)
        result = self._service.search(session_id, query, top, filters, values[self.hybrid], values[self.rerank])
        beside = values[self.beside]
        other = self._service.beside(session_id, beside, query, top, filters) if beside else None
        return {self.hits: view.results(result, other), self.chips: self._active(values)}

    def _on_more_like(self, values: Values, event: gr.EventData) -> Updates:
        row = event._data.get("row") if isinstance(event._data, dict) else None
        session_id, _, top, filters = self._request(values)
        result = self._service.more_like(session_id, row, top, filters)
        return {self.query: result.query, self.hits: view.results(result), self.chips: self._active(values)}

    def _on_removed(self, values: Values, event: gr.EventData) -> Updates:
        """Remove the filter or switch off the option whose chip was clicked, and search again."""
        name = event._data.get("filter") if isinstance(event._data, dict) else None
        switch, _ = self._switches.get(str(name), (None, ""))
        if name == self.beside.elem_id:
            changed: Values = {self.beside: NOTHING}
        else:
            changed = {switch: False} if switch else self.filters.without(values, name)
        return {**changed, **self._on_search(values | changed)}

    def _request(self, values: Values) -> tuple[str, str, int, dict[str, Any]]:
        """Session, query, number of hits, filters."""
        return values[self._session_id], values[self.query], values[self.top], self.filters.chosen(values)

    def _active(self, values: Values) -> str:
        """Chips for the options and filters in force."""
        chips = {name: label for name, (switch, label) in self._switches.items() if values[switch]}
        beside = BESIDE_CHIPS.get(str(values[self.beside]))
        compared = {str(self.beside.elem_id): f"Beside: {beside}"} if beside else {}
        return view.chips(chips | compared | self.filters.active(values))
