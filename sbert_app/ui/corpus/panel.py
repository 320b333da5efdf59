"""The panel below the header to load a corpus: recent, examples, upload or pasted lines; choose its text columns, index, export."""

import secrets
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus.reader import guess_column, looks_like_prose
from sbert_app.errors import UserError
from sbert_app.services.collection.service import CollectionService
from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.services.indexing.indexer import IndexProgress
from sbert_app.tables import Table
from sbert_app.ui.corpus import view
from sbert_app.ui.corpus.collection_panel import CollectionPanel
from sbert_app.ui.corpus.export_panel import ExportPanel
from sbert_app.ui.corpus.so_far_panel import SoFarPanel
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent
from sbert_app.ui.kit.files import uploaded
from sbert_app.ui.kit.long_job import LongJob, throttled

PREVIEW_ROWS, PREVIEW_LENGTH = 5, 200  # characters of a cell


class CorpusPanel:
    """Components and event handlers, without visitors' data.

    `opened`: a State that changes whenever another corpus is opened, which tells every tab to show it.
    """

    def __init__(
        self, corpora: CorpusService, collections: CollectionService, session_id: gr.State, model: gr.State, menu: gr.HTML
    ) -> None:
        self._collections = collections
        self._corpora, self._session_id, self._model, self._menu = corpora, session_id, model, menu
        self.opened = gr.State("")
        with gr.Column(elem_id="corpus-panel"):
            self._draw_sources()
            self.collection = CollectionPanel(collections, session_id)
            self._draw_choose()
            self.export = ExportPanel(corpora, session_id)
        self.progress = gr.HTML(elem_id="progress", js_on_load=None)
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        self.so_far = SoFarPanel(corpora, session_id)
        with gr.Row(elem_id="stale-row", visible=False) as self.stale_row:
            self.stale = gr.HTML(elem_id="stale", js_on_load=None)
            self.again = gr.Button("Index again", size="sm", scale=0, min_width=260, elem_id="index-again")
        self.job = LongJob(self.stop, self.progress, self.index, self.again)

    def _draw_sources(self) -> None:
        with gr.Row(elem_id="corpus-sources"):
            with gr.Column(scale=1, min_width=300), gr.Tabs():
                with gr.Tab("Upload"):
                    # No file_types: Gradio's own error stays on top of the box and does not say what to do.
                    self.file = gr.File(label=view.FORMATS, height=150, elem_id="corpus-file", elem_classes="drop-zone")
                with gr.Tab("Paste"):
                    self.pasted = gr.Textbox(label="One sentence per line", lines=5, max_lines=14, elem_id="pasted")
                    self.use_pasted = gr.Button("Use these lines", size="sm", elem_id="use-pasted")
            with gr.Column(scale=1, min_width=300):
                self.choices = gr.HTML(view.choices([]), elem_id="corpus-choices", js_on_load=None)

    def _draw_choose(self) -> None:
        with gr.Column(visible=False, elem_id="choose") as self.choose:
            self.summary = gr.HTML(elem_id="offered", js_on_load=None)
            self.columns = gr.Dropdown(
                label="Text column(s)", info="Several columns are joined, in the order of the file.", multiselect=True,
                elem_id="columns",
            )  # fmt: skip
            with gr.Row(elem_classes="examples"):
                self.index = gr.Button("Index", variant="primary", elem_id="index")
                self.cancel = gr.Button("Cancel", elem_id="index-cancel")
            self.preview = gr.Dataframe(label="First rows", interactive=False, wrap=True, elem_id="preview")

    @property
    def shown(self) -> list[Any]:
        """The components that `show` updates."""
        return [self.opened, self._menu, self.choose, self.choices, *self._starts]

    def listen(self, starts: list[gr.HTML]) -> None:
        """Connect events. starts: the choices of corpora that tabs show while none is open."""
        self._starts = starts
        session, with_model = [self._session_id], [self._session_id, self._model]
        table = [self.choose, self.summary, self.columns, self.preview, self.file, self.index]
        uploaded = self.file.upload(handler(self._on_file), [*session, self.file], table, **PRIVATE)
        uploaded.failure(lambda: None, None, self.file, **PRIVATE)  # so that another file can be uploaded
        self.use_pasted.click(handler(self._on_pasted), [*session, self.pasted], table, **PRIVATE)
        self.cancel.click(lambda: gr.Column(visible=False), None, self.choose, **PRIVATE)
        self.export.columns.click(handler(self._on_other_columns), session, table, **PRIVATE)
        self.collection.listen([*self.shown, self.progress], self._on_collection)
        self._menu.picked(handler(self._on_picked), with_model, [*self.shown, self.progress], **PRIVATE)
        inputs = [*session, self.columns, self._model]
        outputs = [*self.shown, *self.so_far.outputs]
        runs = [
            self.job.listen(self.index.click, self._on_index, inputs, outputs, self._corpora.stop),
            self.job.listen(self.again.click, self._on_index_again, with_model, outputs, None),
        ]
        self.so_far.listen(runs)
        gr.on(
            [self.opened.change, self._model.change], handler(self._on_model), with_model,
            [self.stale_row, self.stale, self.again], trigger_mode="always_last", **PRIVATE,
        )  # fmt: skip
        self.export.listen(self.opened)

    def show(self, session_id: str, wanted: str = "") -> Updates:
        """Show the session's corpus in the header, and tell the tabs that it was opened.

        wanted: what the page's address goes on to name if there is none.
        """
        indexed, opened = self._corpora.current(session_id), secrets.token_hex(4)
        return {
            self.opened: opened if indexed else "",
            self._menu: view.menu(indexed, opened, self._collections.current(session_id), wanted),
            self.choose: gr.Column(visible=False),
            **self._listed(),
        }

    def _listed(self) -> Updates:
        """The corpora to choose from, in the panel and on the tabs."""
        saved = self._corpora.saved()
        return {self.choices: view.choices(saved), **dict.fromkeys(self._starts, view.start(saved, self._corpora.hosted))}

    def _on_file(self, session_id: str, file: str | None) -> Updates:
        with uploaded(file, "Choose a file.") as path:
            return {**self._put_table(session_id, self._corpora.read_file(path)), self.file: None}

    def _on_pasted(self, session_id: str, text: str) -> Updates:
        return self._put_table(session_id, self._corpora.read_lines(text))

    def _put_table(self, session_id: str, table: Table) -> Updates:
        return self._offer(table, self._corpora.put_table(session_id, table))

    def _on_other_columns(self, session_id: str) -> Updates:
        table = self._corpora.table(session_id)
        return self._offer(table, guess_column(table.frame))

    def _offer(self, table: Table, column: str) -> Updates:
        """Show a table, to confirm its text columns."""
        return {
            self.choose: gr.Column(visible=True),
            self.summary: view.table_summary(table, column, looks_like_prose(table.frame, column)),
            self.columns: gr.Dropdown(choices=list(table.frame.columns), value=[column]),
            self.preview: table.frame.head(PREVIEW_ROWS).map(lambda cell: html.short(cell, PREVIEW_LENGTH)),
            self.index: gr.Button(f"Index {view.rows(len(table.frame))}"),
        }

    def _on_picked(self, session_id: str, model: str, event: gr.EventData) -> Updates:
        """A corpus was chosen or deleted, here or on a tab without a corpus."""
        match sent(event):
            case {"example": str(name)}:
                self._corpora.open_example(session_id, name, model)
            case {"open": str(corpus_id)}:
                self._corpora.open_saved(session_id, corpus_id)
            case {"delete": str(corpus_id)}:
                self._corpora.delete_saved(corpus_id)
                return self._listed()
            case _:
                raise UserError("Choose a corpus from the list.")
        return {**self.show(session_id), self.progress: view.ready(self._corpora.current(session_id))}

    def _on_collection(self, session_id: str) -> Updates:
        """A collection was opened."""
        ready = view.ready(self._corpora.current(session_id), self._collections.current(session_id))
        return {**self.show(session_id), self.progress: ready}

    def _on_index(self, session_id: str, columns: list[str], model: str) -> Iterator[Updates]:
        yield from self._indexing(session_id, self._corpora.index(session_id, columns, model))

    def _on_index_again(self, session_id: str, model: str) -> Iterator[Updates]:
        yield from self._indexing(session_id, self._corpora.index_again(session_id, model))

    def _indexing(self, session_id: str, events: Iterator[IndexProgress]) -> Iterator[Updates]:
        for event in throttled(events, lambda event: event.stopped or event.corpus is not None):
            if event.corpus:
                state = self.show(session_id) | self.job.idle(view.ready(event.corpus))
            elif event.stopped:
                state = self.job.idle(view.progress(event))
            else:
                state = self.job.busy(view.progress(event))
            yield state | self.so_far.following(event)

    def _on_model(self, session_id: str, model: str) -> Updates:
        """Say whether the chosen model is another than the one of the open corpus's index."""
        other = self._corpora.other_index(session_id, model)
        updates: Updates = {self.stale_row: gr.Row(visible=other is not None), self.stale: view.stale(other)}
        if other is None:
            return updates
        return updates | {self.again: gr.Button(view.index_again(other), visible=not other.is_collection)}
