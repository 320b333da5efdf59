"""Panel that finds the rows of another file that already occur in the corpus, for instance test rows in a training set."""

from collections.abc import Iterator
from dataclasses import asdict

import gradio as gr

from sbert_app.corpus.mining import FLOOR
from sbert_app.services.bundle import Services
from sbert_app.services.corpus.duplicates import DEFAULT_THRESHOLD
from sbert_app.services.corpus.overlap import OverlapProgress
from sbert_app.tables.writing import csv_file
from sbert_app.ui.duplicates import overlap_view as view
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.files import FileButton, uploaded
from sbert_app.ui.kit.long_job import LongJob, throttled
from sbert_app.wording import plural

LEAD = "Find rows of another file that already occur in this corpus, such as test sentences in a training set."
FILE = "overlap.csv"


class OverlapPanel:
    """Components and event handlers; the comparison is in the visitor's session."""

    def __init__(self, services: Services, session_id: gr.State, opened: gr.State) -> None:
        self._service, self._corpora, self._session_id = services.overlap, services.corpora, session_id
        self._collections = services.collections
        with gr.Accordion("Compare with another file", open=False, elem_id="overlap-box") as self.block:
            self._draw()
        self.job = LongJob(self.stop, self.stage)
        self._listen(opened)

    def _draw(self) -> None:
        gr.HTML(html.hint(LEAD), js_on_load=None)
        self.file = gr.File(label="The other file", height=130, elem_id="overlap-file")
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="overlap-stop")
        self.stage = gr.HTML(elem_id="overlap-stage", js_on_load=None)
        with gr.Column(visible=False) as self.result:
            self.threshold = gr.Slider(
                FLOOR, 1, DEFAULT_THRESHOLD, step=0.01, label="Match from this cosine", elem_id="overlap-threshold"
            )
            self.overlap = gr.HTML(elem_id="overlap", js_on_load=None)
            with gr.Row(elem_classes="examples"):
                self.export = FileButton(FILE, "overlap-export")

    def _listen(self, opened: gr.State) -> None:
        session, with_threshold = [self._session_id], [self._session_id, self.threshold]
        opened.change(handler(self._on_opened), session, [self.block, self.file, self.stage, self.result], **PRIVATE)
        compared = [self.result, self.overlap, self.export.button]
        started = self.job.listen(
            self.file.upload, self._on_file, [*session, self.file, self.threshold], compared, self._service.stop
        )
        started.failure(lambda: None, None, self.file, **PRIVATE)  # so that another file can be uploaded
        outputs = [self.overlap, self.export.button]
        self.threshold.change(handler(self._shown), with_threshold, outputs, trigger_mode="always_last", **PRIVATE)
        self.export.listen(self._content, with_threshold)

    def _on_opened(self, session_id: str) -> Updates:
        """Clear the comparison with the previous corpus."""
        hidden = self._collections.current(session_id) is not None
        cleared = {self.file: None, self.stage: "", self.result: gr.Column(visible=False)}
        return cleared | {self.block: gr.Accordion(visible=not hidden)}

    def _on_file(self, session_id: str, file: str, threshold: float) -> Iterator[Updates]:
        for event in throttled(self._compare(session_id, file), lambda event: event.stopped or event.compared is not None):
            if event.stopped:
                yield self.job.idle(html.status(view.STOPPED))
            elif event.compared:
                yield {**self.job.idle(), self.result: gr.Column(visible=True), **self._shown(session_id, threshold)}
            else:
                yield self.job.busy(view.progress(event))

    def _compare(self, session_id: str, file: str) -> Iterator[OverlapProgress]:
        with uploaded(file, "Choose the other file.") as path:
            table = self._corpora.read_file(path)
        yield from self._service.compare(session_id, table)

    def _shown(self, session_id: str, threshold: float) -> Updates:
        compared, matches = self._service.matches(session_id, threshold)
        amount = f"{len(matches):,} {plural(len(matches), 'row', 'rows')}"
        export = self.export.labelled(amount, visible=bool(matches))
        return {self.overlap: view.overlap(compared, matches, threshold), self.export.button: export}

    def _content(self, session_id: str, threshold: float) -> str:
        return csv_file([asdict(match) for match in self._service.matches(session_id, threshold)[1]])
