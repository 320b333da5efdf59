"""While a corpus is being indexed: search the rows that are encoded already."""

from typing import Any

import gradio as gr

from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.indexing.indexer import ENCODING, IndexProgress
from sbert_app.ui.corpus import view
from sbert_app.ui.kit.events import PRIVATE, Updates, handler


class SoFarPanel:
    """A query and its hits, visible while rows are being encoded; without visitors' data."""

    def __init__(self, corpora: CorpusService, session_id: gr.State) -> None:
        self._corpora, self._session_id = corpora, session_id
        with gr.Column(visible=False, elem_id="so-far") as self.column:
            self.query = gr.Textbox(
                label="Search the rows encoded so far",
                placeholder="No need to wait: type a query and press Enter",
                max_lines=1,
                elem_id="so-far-query",
            )
            self.hits = gr.HTML(elem_id="so-far-hits", js_on_load=None)

    @property
    def outputs(self) -> list[gr.Column | gr.HTML]:
        return [self.column, self.hits]

    def listen(self, runs: list[Any]) -> None:
        """runs: the events of the indexing; one that fails hides the panel."""
        for run in runs:
            run.failure(lambda: gr.Column(visible=False), None, self.column, **PRIVATE)
        self.query.submit(handler(self._on_query), [self._session_id, self.query], self.hits, **PRIVATE)

    def following(self, event: IndexProgress) -> Updates:
        """Visible while rows are encoded; empty again afterwards."""
        encoding = event.stage == ENCODING and not event.stopped and event.corpus is None
        visible: Updates = {self.column: gr.Column(visible=encoding)}
        return visible if encoding else visible | {self.hits: ""}

    def _on_query(self, session_id: str, query: str) -> Updates:
        return {self.hits: view.so_far(self._corpora.search_so_far(session_id, query))}
