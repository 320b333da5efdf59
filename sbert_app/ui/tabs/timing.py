"""Timing: the race, what it means for any number of sentences, and the paper's Table 7 on this machine."""

import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.services.timing import DEFAULT_SECONDS, TimingService, Waiting
from sbert_app.timing.experiment import Moment
from sbert_app.ui.events import handler
from sbert_app.ui.timing_chart import race_chart
from sbert_app.ui.views import parts, race, timing, timing_numbers
from sbert_app.ui.views.timing_page import page

REFRESH_SECONDS = 0.3  # drawing costs the processor that is being timed
PAGES_KEPT = 8
PAGE_NAME = "sbert-studio-timing.html"
LEAD = "A cross-encoder reads every **pair**, SBERT reads every **sentence once**. Race them, on this machine."
NOT_YET = "Nothing measured yet. Start the race: it takes about half a minute."
NOTHING = "Stopped before both lanes had worked: there is nothing to reckon with."

Updates = dict[Any, Any]


def build(service: TimingService, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
    """Draw the tab and wire it. `opened` changes with the session's corpus, which is what is raced."""
    gr.Markdown(
        "A cross-encoder reads every **pair**, SBERT reads every **sentence once**. Race them, on this machine.",
        elem_classes="lead",
    )
    tab = _TimingTab(service, session_id, model)
    tab.listen(opened)


class _TimingTab:
    """The components of one page and their handlers; what was measured is in the visitor's session."""

    def __init__(self, service: TimingService, session_id: gr.State, model: gr.State) -> None:
        self._service, self._session_id, self._model = service, session_id, model
        # Pages wait here until Gradio has copied them; the oldest folder is deleted with its object.
        self._pages: deque[tempfile.TemporaryDirectory[str]] = deque(maxlen=PAGES_KEPT)
        self._draw_race()
        self._draw_result()
        self._draw_table_7()

    def _draw_race(self) -> None:
        self.course = gr.HTML(race.course(self._service.course()), elem_id="course", js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.start = gr.Button("Start the race", variant="primary", elem_id="race")
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="race-stop")
        with gr.Accordion("Options", open=False, elem_id="race-options"):
            self.seconds = gr.Slider(
                2,
                self._service.most_seconds,
                DEFAULT_SECONDS,
                step=1,
                label="Seconds of work for the cross-encoder",
                info="More seconds make its rate firmer. SBERT takes its turns in between.",
                elem_id="race-seconds",
            )
        self.stage = gr.HTML(elem_id="race-stage", js_on_load=None)
        self.lanes = gr.HTML(parts.empty(NOT_YET), elem_id="lanes", js_on_load=None)

    def _draw_result(self) -> None:
        with gr.Column(visible=False, elem_id="race-result") as self.result:
            self.sentences = gr.Slider(
                1, 6, 4, step=0.05, label="Number of sentences, from 10 to 1,000,000", elem_id="race-n", elem_classes="log-slider"
            )
            self.words = gr.HTML(elem_id="race-words", js_on_load=None)
            self.chart = gr.Plot(show_label=False, elem_id="race-chart")
            self.agreement = gr.HTML(elem_id="race-agreement", js_on_load=None)
            with gr.Accordion("Every number, and how it was obtained", open=False, elem_id="race-numbers-box"):
                self.numbers = gr.HTML(elem_id="race-numbers", js_on_load=None)
            with gr.Row(elem_classes="examples"):
                self.save = gr.Button("Make one page of it", size="sm", elem_id="race-page")
                self.download = gr.DownloadButton("Download the page", size="sm", visible=False, elem_id="race-download")

    def _draw_table_7(self) -> None:
        gr.HTML('<h2 class="section">Sentences a second, as in the paper\'s Table 7</h2>', js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.measure = gr.Button("Measure", size="sm", elem_id="table-7-measure")
        self.table_7 = gr.HTML(elem_id="table-7", js_on_load=None)

    def listen(self, opened: gr.State) -> None:
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        mine = [self._session_id]
        shown = [self.start, self.stop, self.stage, self.lanes, self.result, self.words, self.chart, self.agreement, self.numbers]
        opened.change(handler(self._on_opened), mine, self.course, **private)
        self.start.click(
            handler(self._on_start),
            [*mine, self._model, self.seconds, self.sentences],
            [*shown, self.download, self.measure],
            concurrency_limit=None,
            **private,
        ).failure(self._on_failure, None, [self.start, self.stop, self.stage, self.measure], **private)
        self.stop.click(handler(self._service.stop), mine, None, queue=False, **private)
        self.sentences.change(
            handler(self._on_slide), [*mine, self.sentences], self.words, queue=False, trigger_mode="always_last", **private
        )
        self.save.click(handler(self._on_save), [*mine, self.sentences], self.download, **private)
        self.measure.click(
            handler(self._on_measure),
            [*mine, self._model],
            [self.start, self.stop, self.stage, self.table_7, self.measure],
            concurrency_limit=None,
            **private,
        ).failure(self._on_failure, None, [self.start, self.stop, self.stage, self.measure], **private)

    def _on_opened(self, session_id: str) -> str:
        return race.course(self._service.course(session_id))

    def _on_start(self, session_id: str, model: str, seconds: int, exponent: float) -> Iterator[Updates]:
        """The race live; at its end the result, which stays in the session for the slider and the page."""
        yield {**self._busy(True), self.result: gr.Column(visible=False), self.download: gr.DownloadButton(visible=False)}
        last, shown = Moment(""), 0.0
        for step in self._service.race_session(session_id, model, seconds):
            if isinstance(step, Moment):
                last = step
            if time.monotonic() - shown < REFRESH_SECONDS:
                continue
            shown = time.monotonic()
            if isinstance(step, Waiting):
                yield {self.stage: race.waiting(step.before)}
            else:
                yield {self.stage: race.stage(step.stage), self.lanes: race.lanes(step)}
        yield {
            **self._busy(False),
            self.stage: "",
            self.lanes: race.lanes(last) or parts.empty(NOTHING),
            **self._shown(last, exponent),
        }

    def _shown(self, last: Moment, exponent: float) -> Updates:
        if last.result is None:
            return {}
        return {
            self.result: gr.Column(visible=True),
            self.words: timing.in_words(last.result, sentences_at(exponent)),
            self.chart: race_chart(last.result),
            self.agreement: timing.agreement(last.result),
            self.numbers: timing_numbers.numbers(last.result),
        }

    def _on_slide(self, session_id: str, exponent: float) -> str:
        return timing.in_words(self._service.result(session_id), sentences_at(exponent))

    def _on_save(self, session_id: str, exponent: float) -> Any:
        result = self._service.result(session_id)
        folder = tempfile.TemporaryDirectory(prefix="sbert-studio-")
        self._pages.append(folder)
        path = Path(folder.name) / PAGE_NAME
        path.write_text(page(result, sentences_at(exponent), race_chart(result)), encoding="utf-8")
        return gr.DownloadButton(f"Download {PAGE_NAME} ({path.stat().st_size / 1e6:.0f} MB)", value=str(path), visible=True)

    def _on_measure(self, session_id: str, model: str) -> Iterator[Updates]:
        yield self._busy(True)
        for step in self._service.table_7_session(session_id, model):
            if isinstance(step, Waiting):
                yield {self.stage: race.waiting(step.before)}
            else:
                yield {self.stage: race.stage("Measuring sentences a second"), self.table_7: timing_numbers.table_7(step)}
        yield {**self._busy(False), self.stage: ""}

    def _busy(self, busy: bool) -> Updates:
        buttons = {button: gr.Button(interactive=not busy) for button in (self.start, self.measure)}
        return {**buttons, self.stop: gr.Button(visible=busy)}

    def _on_failure(self) -> Updates:
        return {**self._busy(False), self.stage: ""}


def sentences_at(exponent: float) -> int:
    """The slider's place as a number of sentences, two digits: 4 is 10,000, 4.05 is 11,000."""
    return int(float(f"{10 ** min(6.0, max(1.0, float(exponent))):.2g}"))
