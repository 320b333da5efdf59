"""The named endpoint on speed: /timing."""

import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.corpora import CorpusService
from sbert_app.services.timing import DEFAULT_SECONDS, Course, TimingService, Waiting
from sbert_app.services.validation import whole_number
from sbert_app.runtime.workbench import Workbench
from sbert_app.timing.experiment import Moment
from sbert_app.timing.result import MOST_SENTENCES
from sbert_app.ui.events import handler

TOLD_EVERY = 0.5  # seconds


class TimingEndpoint:
    """One method, the endpoint. Its docstring is the API page."""

    def __init__(self, bench: Workbench, timings: TimingService) -> None:
        self._corpora, self._timings, self._limits = CorpusService(bench), timings, bench.settings.limits

    def timing(self, lines: str, sentences: float, seconds: float, model: str) -> Iterator[dict[str, Any]]:
        """Race a cross-encoder against SBERT on the app's machine. Closing the call stops the race.

        Args:
            lines: The sentences to race with, one a line, at least 20. Empty: the example tickets.
            sentences: Extrapolate to so many sentences, 2 to 1,000,000.
            seconds: Of work for the cross-encoder.
            model: A name from /models.

        Returns:
            While it runs: stage, and before, the number of timing runs served first. At the end: sentences, pairs,
            cross-encoder and sbert (rate, slowest and fastest turn, extrapolated seconds with a 95 % band), measured,
            agreement, query, answer, conditions.
        """
        sentences = whole_number(sentences, "number of sentences", 2, MOST_SENTENCES)
        course = self._course(lines)
        told, result = 0.0, None
        for step in self._timings.race(course, model, whole_number(seconds, "number of seconds", 1, self._timings.most_seconds)):
            note = {"stage": "Waiting", "before": step.before} if isinstance(step, Waiting) else {"stage": step.stage, "before": 0}
            if isinstance(step, Moment):
                result = step.result or result
            if time.monotonic() - told > TOLD_EVERY:
                told = time.monotonic()
                yield note
        if result:
            yield result.summary(sentences)

    def _course(self, lines: str) -> Course:
        if not lines:
            return self._timings.course()
        table = self._corpora.read_lines(lines)
        corpus = read_corpus(table, [guess_column(table.frame)], self._limits)
        return self._timings.prepare("lines", corpus.sentences)


def build(bench: Workbench, timings: TimingService) -> None:
    """Add the endpoint to the page that is being drawn."""
    endpoint = TimingEndpoint(bench, timings)
    with gr.Row(visible=False):
        inputs = [gr.Textbox(""), gr.Number(10_000), gr.Number(DEFAULT_SECONDS), gr.Textbox(DEFAULT_ENCODER)]
        gr.Button().click(handler(endpoint.timing), inputs, gr.JSON(), api_name="timing", concurrency_limit=None)
