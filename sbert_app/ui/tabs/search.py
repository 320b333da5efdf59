"""Search: bring a corpus, index it, search it by meaning."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.services.corpora import CorpusService
from sbert_app.services.search import SearchService
from sbert_app.tables import FORMATS, Table
from sbert_app.ui.events import handler
from sbert_app.ui.views import parts
from sbert_app.ui.views import search as view

REFRESH_SECONDS = 0.2  # between two states of the progress bar
PREVIEW_ROWS = 5
EXAMPLES = {
    "support_tickets.csv": ("Support tickets", "charged two times for the same thing"),
    "field_notes.csv": ("Household advice", "my kettle has white stuff inside"),
}
MORE_LIKE_THIS = """
element.addEventListener('click', event => {
  const button = event.target.closest('button.more');
  if (button) trigger('picked', {row: Number(button.dataset.row)});
});
"""


def build(corpora: CorpusService, service: SearchService, session_id: gr.State, model: gr.State) -> None:
    """Draw the tab and wire it."""
    gr.Markdown("Find sentences by what they **mean**, in your own file: different words, same idea.", elem_classes="lead")
    tab = _SearchTab(corpora, service, session_id, model)
    tab.draw()
    tab.wire_corpus()
    tab.wire_search()


Updates = dict[Any, Any]  # component -> its new value or state; what is not named stays as it is


class _SearchTab:
    """The components of one page and their handlers; holds no visitor's data."""

    def __init__(self, corpora: CorpusService, service: SearchService, session_id: gr.State, model: gr.State) -> None:
        self.corpora = corpora
        self.service = service
        self.session_id = session_id
        self.model = model
        self.local = not corpora.hosted

    # What is on the page

    def draw(self) -> None:
        with gr.Row(elem_classes="examples"):
            self.examples = {
                name: gr.Button(f"Example: {title}", size="sm", elem_id=f"example-{Path(name).stem}")
                for name, (title, _) in EXAMPLES.items()
            }
        with gr.Accordion("Your corpus", open=False, elem_id="bring") as self.bring:
            self._draw_sources()
        self.progress = gr.HTML(elem_id="progress", js_on_load=None)
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        self.status = gr.HTML(parts.empty(view.NO_CORPUS), elem_id="status", js_on_load=None)
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

    def _draw_sources(self) -> None:
        with gr.Tabs():
            with gr.Tab("Upload"):
                self.file = gr.File(
                    label=f"A file: {', '.join(FORMATS)}", file_types=[f".{f}" for f in FORMATS], elem_id="corpus-file"
                )
            with gr.Tab("Paste"):
                self.pasted = gr.Textbox(label="One sentence a line", lines=6, max_lines=14, elem_id="pasted")
                self.use_pasted = gr.Button("Use these lines", size="sm", elem_id="use-pasted")
            with gr.Tab("Saved", visible=self.local):
                self.saved = gr.Dropdown(choices=self._saved_choices(), label="Indexed before, on this machine", elem_id="saved")
                with gr.Row():
                    self.open_saved = gr.Button("Open", size="sm", elem_id="open-saved")
                    self.delete_saved = gr.Button("Delete", size="sm", variant="stop", elem_id="delete-saved")
        with gr.Column(visible=False) as self.choose:
            self.offered = gr.HTML(elem_id="offered", js_on_load=None)
            self.columns = gr.Dropdown(label="Sentence column (several are joined)", multiselect=True, elem_id="columns")
            self.preview = gr.Dataframe(label="First rows", interactive=False, wrap=True, elem_id="preview")
            self.index = gr.Button("Index", variant="primary", elem_id="index")

    def _draw_options(self) -> None:
        with gr.Row():
            self.top = gr.Slider(1, 100, 10, step=1, label="Hits", elem_id="top")
            self.hybrid = gr.Checkbox(label="Hybrid: join the ranking with word search (BM25)", elem_id="hybrid")
        self.facets = gr.Dropdown(
            label="Only rows where",
            multiselect=True,
            info="Values of one column widen the choice, columns narrow it.",
            elem_id="facets",
        )
        with gr.Row():
            self.column = gr.Dropdown(label="Column", elem_id="filter-column")
            self.contains = gr.Textbox(label="contains", elem_id="filter-contains")
            self.low = gr.Textbox(label="from", placeholder="number or date", elem_id="filter-from")
            self.high = gr.Textbox(label="to", placeholder="number or date", elem_id="filter-to")

    # Bringing a corpus

    def wire_corpus(self) -> None:
        offered = [self.choose, self.offered, self.columns, self.preview]
        private: dict[str, Any] = {"api_visibility": "private"}
        self.file.upload(handler(self._on_file), [self.session_id, self.file], offered, **private)
        self.use_pasted.click(handler(self._on_pasted), [self.session_id, self.pasted], offered, **private)
        opened = [self.status, self.bring, self.progress, *self._filters(), self.hits]
        for name, button in self.examples.items():
            button.click(handler(self._on_example(name)), [self.session_id, self.model], [*opened, self.query], **private).then(
                handler(self._on_search), self._search_inputs(), self.hits, show_progress="hidden", **private
            )
        indexing = self.index.click(
            handler(self._on_index),
            [self.session_id, self.columns, self.model],
            [*opened, self.stop, self.index, self.saved],
            show_progress="hidden",
            concurrency_limit=4,
            **private,
        )
        self.stop.click(handler(self.corpora.stop), self.session_id, None, queue=False, **private)
        indexing.failure(
            lambda: [gr.Button(visible=False), gr.Button(interactive=True), ""],
            None,
            [self.stop, self.index, self.progress],
            **private,
        )
        if self.local:
            self.open_saved.click(handler(self._on_open_saved), [self.session_id, self.saved], opened, **private)
            self.delete_saved.click(handler(self._on_delete_saved), self.saved, self.saved, **private)

    def _on_file(self, session_id: str, file: str | None) -> Updates:
        if not file:
            return {}
        return self._offer(session_id, self.corpora.read_file(Path(file)))

    def _on_pasted(self, session_id: str, text: str) -> Updates:
        return self._offer(session_id, self.corpora.read_lines(text))

    def _offer(self, session_id: str, table: Table) -> Updates:
        column = self.corpora.offer(session_id, table)
        return {
            self.choose: gr.Column(visible=True),
            self.offered: view.offered(table, column),
            self.columns: gr.Dropdown(choices=list(table.frame.columns), value=[column]),
            self.preview: table.frame.head(PREVIEW_ROWS),
        }

    def _on_example(self, name: str) -> Callable[[str, str], Updates]:
        def on_example(session_id: str, model: str) -> Updates:
            indexed = self.corpora.open_example(session_id, name, model)
            return {**self._opened(indexed), self.query: EXAMPLES[name][1]}

        return on_example

    def _on_open_saved(self, session_id: str, corpus_id: str | None) -> Updates:
        return self._opened(self.corpora.open_saved(session_id, corpus_id or ""))

    def _on_delete_saved(self, corpus_id: str | None) -> Any:
        self.corpora.delete_saved(corpus_id or "")
        return gr.Dropdown(choices=self._saved_choices(), value=None)

    def _on_index(self, session_id: str, columns: list[str], model: str) -> Iterator[Updates]:
        shown = 0.0
        for event in self.corpora.index(session_id, columns, model):
            last = event.stopped or event.corpus is not None
            if not last and time.monotonic() - shown < REFRESH_SECONDS:
                continue
            shown = time.monotonic()
            buttons = {self.stop: gr.Button(visible=not last), self.index: gr.Button(interactive=last)}
            if event.corpus:
                status = view.corpus(event.corpus, event)
                saved = gr.Dropdown(choices=self._saved_choices())
                yield {**self._opened(event.corpus), **buttons, self.status: status, self.saved: saved}
            else:
                yield {self.progress: view.progress(event), **buttons}

    def _on_failure(self) -> Updates:
        return {self.stop: gr.Button(visible=False), self.index: gr.Button(interactive=True), self.progress: ""}

    def _opened(self, indexed: IndexedCorpus) -> Updates:
        """The page once a corpus is ready: the sources folded, the filters filled with its columns, no old hits."""
        columns = list(indexed.corpus.metadata.columns)
        facets = [(f"{c}: {v}", json.dumps([c, v])) for c, values in self.service.facets_of(indexed).items() for v in values]
        return {
            self.status: view.corpus(indexed),
            self.bring: gr.Accordion(open=False),
            self.progress: "",
            self.facets: gr.Dropdown(choices=facets, value=[]),
            self.column: gr.Dropdown(choices=columns, value=None),
            self.contains: "",
            self.low: "",
            self.high: "",
            self.hits: parts.empty(view.NO_QUERY),
        }

    def _saved_choices(self) -> list[tuple[str, str]]:
        return [
            (f"{s.name} · {s.rows:,} rows · {s.model} · {s.megabytes:.0f} MB · {s.saved[:16]}", s.id) for s in self.corpora.saved()
        ]

    # Searching it

    def wire_search(self) -> None:
        gr.on(
            [self.query.submit, self.go.click, self.hybrid.input, self.facets.input, self.top.release, self.contains.submit,
             self.low.submit, self.high.submit],
            handler(self._on_search),
            self._search_inputs(),
            self.hits,
            trigger_mode="always_last",
            show_progress="hidden",
            concurrency_limit=8,
            api_visibility="private",
        )  # fmt: skip
        # "picked" is an event of the page's own script, see MORE_LIKE_THIS.
        self.hits.picked(
            handler(self._on_more_like),
            [self.session_id, self.top, *self._filters()],
            [self.query, self.hits],
            show_progress="hidden",
            api_visibility="private",
        )

    def _filters(self) -> list[Any]:
        return [self.facets, self.column, self.contains, self.low, self.high]

    def _search_inputs(self) -> list[Any]:
        return [self.session_id, self.query, self.top, self.hybrid, *self._filters()]

    def _on_search(self, session_id: str, query: str, top: int, hybrid: bool, *filters: Any) -> str:
        return view.results(self.service.search(session_id, query, int(top), _chosen(*filters), hybrid))

    def _on_more_like(
        self,
        session_id: str,
        top: int,
        facets: list[str],
        column: str | None,
        contains: str,
        low: str,
        high: str,
        event: gr.EventData,
    ) -> list[str]:
        result = self.service.more_like(session_id, event._data.get("row"), int(top), _chosen(facets, column, contains, low, high))
        return [result.query, view.results(result)]


def _chosen(facets: list[str], column: str | None, contains: str, low: str, high: str) -> dict[str, Any]:
    """The filter of the services from what is set on the page."""
    filters: dict[str, Any] = {}
    for facet in facets or []:
        name, value = json.loads(facet)
        filters.setdefault(name, []).append(value)
    bounds = {"contains": contains, "from": low, "to": high}
    if column and any(bounds.values()):
        filters[column] = {key: value for key, value in bounds.items() if value}
    return filters
