"""Panel to load a corpus (example, upload, pasted lines or saved), choose its text columns, and index it."""

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.reader import looks_like_prose
from sbert_app.services.corpora import CorpusService
from sbert_app.tables import Table
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob, throttled
from sbert_app.ui.kit.uploads import uploaded
from sbert_app.ui.search import corpus_view as view

PREVIEW_ROWS = 5
FILE_LABEL = "csv, tsv, txt, jsonl, json, parquet or xlsx; the text formats also as .gz"
EXAMPLES = {"support_tickets.csv": "Support tickets", "field_notes.csv": "Household advice"}


class CorpusPanel:
    """Components and event handlers, without visitors' data. `opened` changes whenever another corpus is opened."""

    def __init__(self, corpora: CorpusService, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
        self._corpora = corpora
        self._session_id = session_id
        self._model = model
        self.opened = opened
        self._draw()
        self.job = LongJob(self.stop, self.progress, self.index)
        self._listen()

    def _draw(self) -> None:
        with gr.Row(elem_classes="examples"):
            self.examples = {
                name: gr.Button(f"Example: {title}", size="sm", elem_id=f"example-{Path(name).stem}")
                for name, title in EXAMPLES.items()
            }
        with gr.Accordion("Your corpus", open=False, elem_id="bring") as self.bring:
            self._draw_sources()
        self.progress = gr.HTML(elem_id="progress", js_on_load=None)
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="stop")
        self.status = gr.HTML(view.no_corpus(self._corpora.hosted), elem_id="status", js_on_load=None)

    def _draw_sources(self) -> None:
        with gr.Tabs():
            with gr.Tab("Upload"):
                # No file_types: Gradio's own error stays on top of the box and does not say what to do.
                self.file = gr.File(label=FILE_LABEL, height=150, elem_id="corpus-file")
            with gr.Tab("Paste"):
                self.pasted = gr.Textbox(label="One sentence per line", lines=6, max_lines=14, elem_id="pasted")
                self.use_pasted = gr.Button("Use these lines", size="sm", elem_id="use-pasted")
            with gr.Tab("Saved", visible=not self._corpora.hosted) as self.saved_tab:
                self.saved = gr.Dropdown([], label="Indexed before, on this machine", elem_id="saved")
                with gr.Row():
                    self.open_saved = gr.Button("Open", size="sm", elem_id="open-saved")
                    self.delete_saved = gr.Button("Delete", size="sm", variant="stop", elem_id="delete-saved")
        with gr.Column(visible=False) as self.choose:
            self.summary = gr.HTML(elem_id="offered", js_on_load=None)
            self.columns = gr.Dropdown(
                label="Text column(s)", info="Several columns are joined.", multiselect=True, elem_id="columns"
            )
            self.preview = gr.Dataframe(label="First rows", interactive=False, wrap=True, elem_id="preview")
            self.index = gr.Button("Index", variant="primary", elem_id="index")

    def _listen(self) -> None:
        table = [self.choose, self.summary, self.columns, self.preview]
        opened = [self.opened, self.status, self.bring, self.progress]
        replaced = [*opened, self.file, self.choose]
        uploaded = self.file.upload(handler(self._on_file), [self._session_id, self.file], table, **PRIVATE)
        uploaded.failure(lambda: None, None, self.file, **PRIVATE)  # so that another file can be uploaded
        self.file.clear(handler(self._on_clear), self._session_id, self.choose, **PRIVATE)
        self.use_pasted.click(handler(self._on_pasted), [self._session_id, self.pasted], table, **PRIVATE)
        for name, button in self.examples.items():
            button.click(handler(self._on_example(name)), [self._session_id, self._model], replaced, **PRIVATE)
        inputs = [self._session_id, self.columns, self._model]
        self.job.listen(self.index.click, self._on_index, inputs, [self.opened, self.status, self.bring], self._corpora.stop)
        self.saved_tab.select(self._list_saved, None, self.saved, **PRIVATE)
        self.open_saved.click(handler(self._on_open_saved), [self._session_id, self.saved], replaced, **PRIVATE)
        self.delete_saved.click(handler(self._on_delete_saved), self.saved, self.saved, **PRIVATE)

    def _on_file(self, session_id: str, file: str | None) -> Updates:
        if not file:
            return {}
        with uploaded(file, "") as path:
            return self._put_table(session_id, self._corpora.read_file(path))

    def _on_pasted(self, session_id: str, text: str) -> Updates:
        return self._put_table(session_id, self._corpora.read_lines(text))

    def _put_table(self, session_id: str, table: Table) -> Updates:
        column = self._corpora.put_table(session_id, table)
        return {
            self.choose: gr.Column(visible=True),
            self.summary: view.table_summary(table, column, looks_like_prose(table.frame, column)),
            self.columns: gr.Dropdown(choices=list(table.frame.columns), value=[column]),
            self.preview: table.frame.head(PREVIEW_ROWS),
        }

    def _on_example(self, name: str) -> Callable[[str, str], Updates]:
        def on_example(session_id: str, model: str) -> Updates:
            return self._replaced(self._corpora.open_example(session_id, name, model))

        return on_example

    def _on_index(self, session_id: str, columns: list[str], model: str) -> Iterator[Updates]:
        events = self._corpora.index(session_id, columns, model)
        for event in throttled(events, lambda event: event.stopped or event.corpus is not None):
            if event.corpus:
                yield {**self._opened(event.corpus), **self.job.idle(), self.status: view.status(event.corpus, event)}
            elif event.stopped:
                yield self.job.idle(view.progress(event))
            else:
                yield self.job.busy(view.progress(event))

    def _on_open_saved(self, session_id: str, corpus_id: str | None) -> Updates:
        return self._replaced(self._corpora.open_saved(session_id, corpus_id or ""))

    def _on_delete_saved(self, corpus_id: str | None) -> Any:
        self._corpora.delete_saved(corpus_id or "")
        return self._list_saved()

    def _on_clear(self, session_id: str) -> Updates:
        self._corpora.drop_table(session_id)
        return {self.choose: gr.Column(visible=False)}

    def _replaced(self, indexed: IndexedCorpus) -> Updates:
        """Open a corpus that needs no indexing, and hide the table that was being chosen."""
        return {**self._opened(indexed), self.file: None, self.choose: gr.Column(visible=False)}

    def _opened(self, indexed: IndexedCorpus) -> Updates:
        """Show the new corpus, fold the sources, and notify the tabs."""
        updates = {self.status: view.status(indexed), self.bring: gr.Accordion(open=False), self.progress: ""}
        return {self.opened: secrets.token_hex(4), **updates}

    def _list_saved(self) -> Any:
        return gr.Dropdown(choices=[(view.saved(entry), entry.id) for entry in self._corpora.saved()], value=None)
