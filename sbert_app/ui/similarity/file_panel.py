"""Panel for a file of pairs: upload it, and get it back with a column of scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.services.pair_file import PairFileService, ScoredPairs, ScoringProgress
from sbert_app.tables import Table
from sbert_app.tables.writing import csv_file
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob, throttled
from sbert_app.ui.kit.shelf import Shelf
from sbert_app.ui.kit.uploads import uploaded
from sbert_app.ui.similarity import file_view as view

LABEL = "Two text columns: csv, tsv, jsonl, json, parquet, xlsx"
LEAD = "Upload a file with two columns of text. You get the same file back with a score for each row."


class FilePanel:
    """Components and event handlers; the file is in the visitor's session."""

    def __init__(self, service: PairFileService, session_id: gr.State, model: gr.State) -> None:
        self._service, self._session_id, self._model, self._shelf = service, session_id, model, Shelf()
        self._draw()
        self.job = LongJob(self.stop, self.stage, self.score, self.example)
        self._listen()

    def _draw(self) -> None:
        gr.HTML(html.hint(LEAD), js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.example = gr.Button("Example: 420 instructions", size="sm", elem_id="pair-example")
        self.file = gr.File(label=LABEL, height=150, elem_id="pair-file-upload")
        with gr.Row(visible=False, elem_id="pair-columns", elem_classes="query-row") as self.columns:
            self.first = gr.Dropdown(label="First sentence", allow_custom_value=True, elem_id="pair-first")
            self.second = gr.Dropdown(label="Second sentence", allow_custom_value=True, elem_id="pair-second")
            self.score = gr.Button("Score again", elem_id="pair-score")
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="pair-stop")
        self.stage = gr.HTML(elem_id="pair-stage", js_on_load=None)
        self.download = gr.DownloadButton("Download", variant="primary", visible=False, elem_id="pair-download")
        self.result = gr.HTML(elem_id="pair-result", js_on_load=None)

    def _listen(self) -> None:
        session, chosen = self._session_id, [self.first, self.second, self._model]
        shown, scored = [self.columns, self.first, self.second], [self.result, self.download]
        by_file = self.job.listen(
            self.file.upload, self._on_file, [session, self.file, self._model], [*shown, *scored], self._service.stop
        )
        by_file.failure(self._clear, None, [self.file, self.columns, *scored], **PRIVATE)  # so that another file can be uploaded
        self.file.clear(handler(self._on_clear), session, [self.columns, *scored, self.stage], **PRIVATE)
        for button, work, inputs, outputs in (
            (self.example, self._on_example, [session, self._model], [self.file, *shown, *scored]),
            (self.score, self._on_score, [session, *chosen], scored),
        ):
            started = button.click(handler(work), inputs, [*self.job.outputs, *outputs], concurrency_limit=None, **PRIVATE)
            started.failure(self._failed, None, [*self.job.outputs, *scored], **PRIVATE)

    def _on_file(self, session_id: str, file: str | None, model: str) -> Iterator[Updates]:
        with uploaded(file, "Choose a file with two columns of text.") as path:
            table, columns = self._service.open_file(session_id, Path(path))
        yield self._shown(table, columns)
        yield from self._on_score(session_id, *columns, model)

    def _on_example(self, session_id: str, model: str) -> Iterator[Updates]:
        table, columns = self._service.open_example(session_id)
        yield {self.file: None, **self._shown(table, columns)}
        yield from self._on_score(session_id, *columns, model)

    def _shown(self, table: Table, columns: tuple[str, str]) -> Updates:
        names = [*table.frame.columns]
        first, second = (gr.Dropdown(choices=names, value=column) for column in columns)
        return {self.columns: gr.Row(visible=True), self.first: first, self.second: second, **self._cleared()}

    def _on_score(self, session_id: str, first: str | None, second: str | None, model: str) -> Iterator[Updates]:
        steps = self._service.score(session_id, first, second, model)
        for event in throttled(steps, lambda event: event.stopped or event.scored is not None):
            yield self._event(event)

    def _event(self, event: ScoringProgress) -> Updates:
        if event.stopped:
            return {**self.job.idle(html.status(view.STOPPED)), **self._cleared()}
        if event.scored is None:
            return {**self.job.busy(view.progress(event)), **self._cleared()}
        return {**self.job.idle(), self.result: view.scored(event.scored), self.download: self._file(event.scored)}

    def _file(self, scored: ScoredPairs) -> Any:
        name = f"{Path(scored.table.name).name.split('.')[0] or 'pairs'}_scored.csv"
        (path,) = self._shelf.put({name: csv_file(scored.records())})
        return gr.DownloadButton(f"Download {name}", value=str(path), visible=True)

    def _cleared(self) -> Updates:
        """No result, such as that of an earlier file."""
        return {self.result: "", self.download: gr.DownloadButton(visible=False)}

    def _clear(self) -> Updates:
        return {self.file: None, self.columns: gr.Row(visible=False), **self._cleared()}

    def _failed(self) -> Updates:
        return {**self.job.idle(), **self._cleared()}

    def _on_clear(self, session_id: str) -> Updates:
        self._service.clear(session_id)
        return {self.columns: gr.Row(visible=False), **self._cleared(), self.stage: ""}
