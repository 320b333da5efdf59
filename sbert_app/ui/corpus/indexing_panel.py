"""Index a corpus: progress and stop, a search of the rows encoded so far, and the offer to index with another model."""

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from sbert_app.jobs.corpus.indexer import ENCODING, IndexProgress
from sbert_app.jobs.corpus.opening import CorpusService
from sbert_app.runtime.session import Session
from sbert_app.ui.corpus import view
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob


class IndexingPanel:
    """Components and event handlers, without visitors' data."""

    def __init__(self, corpora: CorpusService, session: gr.State, index: gr.Button) -> None:
        self._corpora, self._session, self._index = corpora, session, index
        self.progress = gr.HTML(elem_id="progress", js_on_load=None)
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        with gr.Column(visible=False, elem_id="so-far") as self.so_far:
            self.query = gr.Textbox(
                label="Search the rows encoded so far", placeholder="No need to wait: type a query and press Enter", max_lines=1,
                elem_id="so-far-query",
            )  # fmt: skip
            self.hits = gr.HTML(elem_id="so-far-hits", js_on_load=None)
        with gr.Row(elem_id="stale-row", visible=False) as self.stale_row:
            self.stale = gr.HTML(elem_id="stale", js_on_load=None)
            self.again = gr.Button("Index again", size="sm", scale=0, min_width=260, elem_id="index-again")
        self.job = LongJob(self.stop, self.progress, index, self.again)

    def listen(
        self, columns: gr.Dropdown, model: gr.State, opened: gr.State, shown: list[Any], show: Callable[[Session], Updates]
    ) -> None:
        """Connect events. shown: the components that `show` updates once the corpus is indexed."""
        self._show = show
        session, with_model, outputs = [self._session], [self._session, model], [*shown, self.so_far, self.hits]
        runs = [
            self.job.listen(self._index.click, self._on_index, [*session, columns, model], outputs, self._corpora.stop),
            self.job.listen(self.again.click, self._on_index_again, with_model, outputs, None),
        ]
        for run in runs:
            run.failure(lambda: gr.Column(visible=False), None, self.so_far, **PRIVATE)
        self.query.submit(handler(self._on_query), [*session, self.query], self.hits, **PRIVATE)
        gr.on(
            [opened.change, model.change], handler(self._on_model), with_model,
            [self.stale_row, self.stale, self.again], trigger_mode="always_last", **PRIVATE,
        )  # fmt: skip

    def _on_index(self, session: Session, columns: list[str], model: str) -> Iterator[Updates]:
        yield from self._indexing(session, self._corpora.index(session, columns, model))

    def _on_index_again(self, session: Session, model: str) -> Iterator[Updates]:
        yield from self._indexing(session, self._corpora.index_again(session, model))

    def _indexing(self, session: Session, events: Iterator[IndexProgress]) -> Iterator[Updates]:
        """Show the rows encoded so far while rows are encoded, then the corpus."""
        for event, state in self.job.following(events, lambda event: event.corpus is not None, view.progress, None):
            if event.corpus:
                state |= self._show(session) | {self.progress: view.ready(event.corpus)}
            encoding = event.stage == ENCODING and not event.stopped and event.corpus is None
            yield {**state, self.so_far: gr.Column(visible=encoding), **({} if encoding else {self.hits: ""})}

    def _on_query(self, session: Session, query: str) -> str:
        return view.so_far(self._corpora.search_so_far(session, query))

    def _on_model(self, session: Session, model: str) -> Updates:
        """Say whether the chosen model is another than the one of the open corpus's index."""
        other = self._corpora.other_index(session, model)
        updates: Updates = {self.stale_row: gr.Row(visible=other is not None), self.stale: view.stale(other)}
        if other is None:
            return updates
        return updates | {self.again: gr.Button(view.index_again(other), visible=not other.is_collection)}
