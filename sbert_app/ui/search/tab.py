"""The Search tab: load a corpus, then search it by meaning."""

import json
from typing import Any

import gradio as gr

from sbert_app.services.bundle import Services
from sbert_app.services.search import RERANKED, SearchService
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, typed_text
from sbert_app.ui.search import view
from sbert_app.ui.search.corpus_panel import CorpusPanel

MORE_LIKE_THIS = """
element.addEventListener('click', event => {
  const button = event.target.closest('button.more');
  if (button) trigger('picked', {row: Number(button.dataset.row)});
});
"""


def build_corpus(services: Services, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
    """Build the corpus panel. `opened` changes whenever another corpus is opened."""
    gr.Markdown("Find sentences by what they **mean**, in your own file: different words, same idea.", elem_classes="lead")
    CorpusPanel(services.corpora, session_id, model, opened)


def build(services: Services, session_id: gr.State, opened: gr.State) -> None:
    """Build the search."""
    _SearchTab(services.search, session_id).listen(opened)


class _SearchTab:
    """Components and event handlers, without visitors' data."""

    def __init__(self, service: SearchService, session_id: gr.State) -> None:
        self._service, self._session_id = service, session_id
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
        with gr.Accordion("Options and filters", open=False, elem_id="options"):
            self._draw_options()
        self.hits = gr.HTML(elem_id="hits", js_on_load=MORE_LIKE_THIS)

    def _draw_options(self) -> None:
        self.top = gr.Slider(1, 100, 10, step=1, label="Hits", elem_id="top")
        self.hybrid = gr.Checkbox(label="Hybrid: combine with keyword search (BM25)", elem_id="hybrid")
        self.rerank = gr.Checkbox(
            label=f"Re-rank the best {RERANKED} hits with the cross-encoder",
            info="The bundled one was trained on sentence similarity, not on ranking answers: check whether it helps on your data.",
            elem_id="rerank",
        )
        self.facets = gr.Dropdown(
            label="Only rows where", multiselect=True, elem_id="facets",
            info="Within a column: any of these. Across columns: all of these.",
        )  # fmt: skip
        with gr.Row():
            self.column = gr.Dropdown(label="Column", elem_id="filter-column")
            self.contains = gr.Textbox(label="Contains", elem_id="filter-contains")
            self.low = gr.Textbox(label="From", placeholder="number or date", elem_id="filter-from")
            self.high = gr.Textbox(label="To", placeholder="number or date", elem_id="filter-to")

    def listen(self, opened: gr.State) -> None:
        filters = [self.facets, self.column, self.contains, self.low, self.high]
        opened.change(handler(self._on_opened), [self._session_id, self.query], [self.query, self.hits, *filters], **PRIVATE)
        gr.on(
            [
                self.query.submit, self.go.click, self.hybrid.input, self.rerank.input, self.facets.input, self.top.release,
                self.contains.submit, self.low.submit, self.high.submit,
            ],
            handler(self._on_search), [self._session_id, self.query, self.top, self.hybrid, self.rerank, *filters], self.hits,
            trigger_mode="always_last", **PRIVATE,
        )  # fmt: skip
        # "picked" is a custom event, triggered by MORE_LIKE_THIS.
        self.hits.picked(handler(self._on_more_like), [self._session_id, self.top, *filters], [self.query, self.hits], **PRIVATE)

    def _on_opened(self, session_id: str, query: str) -> Updates:
        """Another corpus: show its filters and search it with its example query, or else with the current query."""
        facets, columns = self._service.filters(session_id)
        first = self._service.first_query(session_id)
        query = first or typed_text(query)
        return {
            self.query: query if first else gr.skip(),
            self.hits: view.results(self._service.search(session_id, query)) if query else html.empty(view.NO_QUERY),
            self.facets: gr.Dropdown(choices=[(f"{c}: {v or '(blank)'}", json.dumps([c, v])) for c, v in facets], value=[]),
            self.column: gr.Dropdown(choices=columns, value=None),
            **dict.fromkeys((self.contains, self.low, self.high), ""),
        }

    def _on_search(self, session_id: str, query: str, top: int, hybrid: bool, rerank: bool, *filters: Any) -> str:
        return view.results(self._service.search(session_id, query, top, _chosen(*filters), hybrid, rerank))

    def _on_more_like(
        self, session_id: str, top: int, facets: list[str], column: str, contains: str, low: str, high: str, event: gr.EventData
    ) -> list[str]:
        row = event._data.get("row") if isinstance(event._data, dict) else None
        result = self._service.more_like(session_id, row, top, _chosen(facets, column, contains, low, high))
        return [result.query, view.results(result)]


def _chosen(facets: list[str], column: str | None, contains: str, low: str, high: str) -> dict[str, Any]:
    """Build the search service's filters from the values on the page."""
    filters: dict[str, Any] = {}
    for facet in facets or []:
        name, value = json.loads(facet)
        filters.setdefault(name, []).append(value)
    bounds = {"contains": contains, "from": low, "to": high}
    if column and any(bounds.values()):
        filters[column] = {key: value for key, value in bounds.items() if value}
    return filters
