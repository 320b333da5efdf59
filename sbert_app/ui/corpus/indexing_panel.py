"""Index a corpus: progress and stop, a search of the rows encoded so far, and the offer to index with another model."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import gradio as gr

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.corpus.job import ENCODING, INDEXING, index, index_again, waiting_table
from sbert_app.jobs.corpus.opening import other_index
from sbert_app.jobs.search.ranked_hits import search_so_far
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.ui.corpus import view
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob


class IndexingPanel:
    """Components and event handlers, without visitors' data."""

    def __init__(self, bench: Workbench, session: gr.State, index: gr.Button) -> None:
        self._bench, self._session, self._index = bench, session, index
        self.progress = gr.HTML(elem_id="progress", js_on_load=None)
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        with gr.Column(visible=False, elem_id="so-far") as self.so_far:
            self.query = gr.Textbox(
                label="Search the rows encoded so far", placeholder="No need to wait: type a query and press Enter", max_lines=1,
                elem_id="so-far-query",
            )  # fmt: skip
            self.hits = gr.HTML(elem_id="so-far-hits", js_on_load=None)

    def draw_notices(self) -> None:
        """What is said of the open corpus, below the bar; assets/style.css shows one notice at a time."""
        self.notice = gr.HTML(elem_id="corpus-notice", elem_classes="notice", js_on_load=None)
        with gr.Row(elem_id="stale-row", elem_classes="notice", visible=False) as self.stale_row:
            self.stale = gr.HTML(elem_id="stale", js_on_load=None)
            self.again = gr.Button("Index again", size="sm", scale=0, elem_id="index-again")
        self.job = LongJob(self.stop, self.progress, self._index, self.again)

    def listen(
        self, chosen: list[Any], model: gr.State, opened: gr.State, shown: list[Any], show: Callable[[Session], Updates]
    ) -> None:
        """Connect events. chosen: text columns and mends; shown: the components that `show` updates once the corpus is indexed."""
        self._show = show
        session, with_model, outputs = [self._session], [self._session, model], [*shown, self.notice, self.so_far, self.hits]
        inputs, stop = [*session, *chosen, model], lambda session: session.stop(INDEXING)
        for run in (
            self.job.listen(self._index.click, self._on_index, inputs, outputs, stop),
            self.job.listen(self.again.click, self._on_index_again, with_model, outputs, None),
        ):
            run.failure(lambda: gr.Column(visible=False), None, self.so_far, **PRIVATE)
        self.query.submit(handler(self._on_query), [*session, self.query], self.hits, **PRIVATE)
        gr.on(
            [opened.change, model.change], handler(self._on_model), with_model,
            [self.stale_row, self.stale, self.again], trigger_mode="always_last", **PRIVATE,
        )  # fmt: skip

    def _on_index(self, session: Session, columns: list[str], mends: list[str], model: str) -> Iterator[Updates]:
        yield from self._indexing(session, waiting_table(session).name, index(self._bench, session, columns, model, mends))

    def _on_index_again(self, session: Session, model: str) -> Iterator[Updates]:
        yield from self._indexing(session, session.corpus().corpus.name, index_again(self._bench, session, model))

    def _indexing(self, session: Session, name: str, steps: Iterator[Step[IndexedCorpus]]) -> Iterator[Updates]:
        """Show the rows encoded so far while rows are encoded, then the corpus. name: of the file."""
        shown = partial(view.progress, name=name)
        for step, state in self.job.following(steps, shown, None):
            if step.result:
                state |= self._show(session) | {self.progress: "", self.notice: view.ready(step.result)}
            encoding = step.stage == ENCODING
            yield {**state, self.so_far: gr.Column(visible=encoding), **({} if encoding else {self.hits: ""})}

    def _on_query(self, session: Session, query: str) -> str:
        return view.so_far(search_so_far(self._bench, session, query))

    def _on_model(self, session: Session, model: str) -> Updates:
        """Say whether the chosen model is another than the one of the open corpus's index."""
        other = other_index(self._bench, session, model)
        updates: Updates = {self.stale_row: gr.Row(visible=other is not None), self.stale: view.stale(other)}
        if other is None:
            return updates
        return updates | {self.again: gr.Button(view.index_again(other), visible=not other.is_collection)}
