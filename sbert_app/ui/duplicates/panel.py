"""Panel for duplicates: mine once, move the threshold, check borderline pairs, export the cleaned corpus."""

import math
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus.mining import FLOOR
from sbert_app.services.duplicates import DEFAULT_THRESHOLD, MOST_LISTED, DuplicatesService
from sbert_app.tables.writing import csv_file
from sbert_app.ui.duplicates import view
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.long_job import LongJob, throttled
from sbert_app.ui.kit.shelf import Shelf

BORDERLINE = 50  # borderline pairs to show and to score with the cross-encoder
VERDICTS, CLEANED, PAIRS = "keep-or-drop.csv", "cleaned.csv", "pairs.csv"


class DuplicatesPanel:
    """Components and event handlers; the mined pairs are in the visitor's session."""

    def __init__(self, service: DuplicatesService, session_id: gr.State, opened: gr.State) -> None:
        self._service, self._session_id = service, session_id
        self._shelf = Shelf()
        self._draw()
        self.job = LongJob(self.stop, self.stage, self.find)
        self._listen(opened)

    def _draw(self) -> None:
        with gr.Row(elem_classes="examples"):
            self.find = gr.Button("Find duplicates", variant="primary", interactive=False, elem_id="find-duplicates")
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="duplicates-stop")
        self.stage = gr.HTML(elem_id="duplicates-stage", js_on_load=None)
        self.threshold = gr.Slider(
            FLOOR, 1, DEFAULT_THRESHOLD, step=0.01, label="Duplicates from this cosine", visible=False,
            info="A lower threshold finds more pairs, also pairs that are only similar.", elem_id="duplicates-threshold",
        )  # fmt: skip
        self.headline = gr.HTML(html.empty(view.NOT_YET), elem_id="duplicates-headline", js_on_load=None)
        with gr.Column(visible=False, elem_id="duplicates-result") as self.result:
            with gr.Row(elem_classes="examples"):
                self.make = gr.Button("Export results", size="sm", elem_id="duplicates-files")
                self.files = [
                    gr.DownloadButton(name, size="sm", visible=False, elem_id=f"duplicates-{name.removesuffix('.csv')}")
                    for name in (CLEANED, VERDICTS, PAIRS)
                ]
            with gr.Accordion("Borderline pairs", open=False, elem_id="duplicates-check"):
                with gr.Row(elem_classes="examples"):
                    self.score = gr.Button("Score with the cross-encoder", size="sm", elem_id="duplicates-ask")
                self.borderline = gr.HTML(elem_id="duplicates-borderline", js_on_load=None)
            self.groups = gr.HTML(elem_id="duplicates-groups", js_on_load=None)

    def _listen(self, opened: gr.State) -> None:
        with_threshold = [self._session_id, self.threshold]
        outputs = [self.headline, self.groups, self.borderline, *self.files]
        shown = [*self.job.outputs, self.threshold, self.result, *outputs]
        opened.change(handler(self._on_opened), with_threshold, shown, **PRIVATE)
        self.job.listen(self.find.click, self._on_find, with_threshold, [self.threshold, self.result, *outputs], self._service.stop)
        self.threshold.change(handler(self._on_slide), with_threshold, outputs, trigger_mode="always_last", **PRIVATE)
        self.score.click(handler(self._on_score), with_threshold, self.borderline, **PRIVATE)
        self.make.click(handler(self._on_make), with_threshold, self.files, **PRIVATE)

    def _on_opened(self, session_id: str, threshold: float) -> Updates:
        """Show what the session holds: after a reload the pairs found before, after another corpus nothing."""
        can_mine = self._service.rows(session_id) > 1
        idle = {**self.job.idle(), self.find: gr.Button(interactive=can_mine)}
        if self._service.is_mined(session_id):
            return {**idle, **self._mined(session_id, threshold)}
        return {
            **idle,
            self.headline: html.empty(view.NOT_YET if can_mine else view.ONE_ROW),
            self.threshold: gr.Slider(minimum=FLOOR, value=DEFAULT_THRESHOLD, step=0.01, visible=False),
            self.result: gr.Column(visible=False),
        }

    def _on_find(self, session_id: str, threshold: float) -> Iterator[Updates]:
        for event in throttled(self._service.find(session_id), lambda event: event.stopped or event.mined is not None):
            if event.stopped:
                yield self.job.idle(html.status(view.STOPPED))
            elif event.mined:
                yield {**self.job.idle(), **self._mined(session_id, threshold)}
            else:
                yield self.job.busy(view.progress(event))

    def _mined(self, session_id: str, threshold: float) -> Updates:
        """Show the pairs found, from the lowest threshold on that they hold."""
        floor = self._service.findings(session_id, 1.0).mined.duplicates.pairs.floor
        threshold = max(threshold, floor)
        shown = self._shown(session_id, threshold)
        return {self.threshold: _slider(threshold, floor), self.result: gr.Column(visible=True), **shown}

    def _on_slide(self, session_id: str, threshold: float) -> Updates:
        """Show another threshold, unless the slider was reset because another corpus was opened."""
        return self._shown(session_id, threshold) if self._service.is_mined(session_id) else {self.headline: gr.skip()}

    def _shown(self, session_id: str, threshold: float) -> Updates:
        """Everything that depends on the threshold; hides files that were exported at another one."""
        findings = self._service.findings(session_id, threshold)
        return {
            self.headline: view.headline(findings),
            self.groups: view.groups(findings),
            self.borderline: view.borderline(findings.borderline(BORDERLINE), findings.threshold),
            **{file: gr.DownloadButton(visible=False) for file in self.files},
        }

    def _on_score(self, session_id: str, threshold: float) -> str:
        pairs, seconds = self._service.score_borderline(session_id, threshold, BORDERLINE)
        return view.borderline(pairs, threshold, seconds)

    def _on_make(self, session_id: str, threshold: float) -> list[Any]:
        findings = self._service.findings(session_id, threshold)
        pairs = [view.pair_record(pair) for pair in findings.pairs(MOST_LISTED)]
        records = {CLEANED: findings.cleaned(), VERDICTS: list(findings.verdicts()), PAIRS: pairs}
        paths = self._shelf.put({name: csv_file(rows) for name, rows in records.items()})
        return [
            gr.DownloadButton(f"{name}, {_amount(name, len(rows))}", value=str(path), visible=bool(rows))
            for path, (name, rows) in zip(paths, records.items(), strict=True)
        ]


def _slider(threshold: float, floor: float) -> Any:
    """The slider from the floor to 1, in smaller steps if that range is short."""
    step = 0.01 if floor < 0.9 else 0.001
    low = min(math.ceil(floor / step) * step, 1 - step)
    return gr.Slider(minimum=round(low, 3), value=round(max(threshold, low), 3), step=step, visible=True)


def _amount(name: str, rows: int) -> str:
    """The number of rows of a file; the list of pairs is cut to the best MOST_LISTED."""
    return f"the best {rows:,}" if name == PAIRS and rows == MOST_LISTED else f"{rows:,} rows"
