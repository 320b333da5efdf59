"""The named endpoint on speed: /timing."""

import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.corpus.reader import guess_column, read_corpus
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runtime.stop import Stop
from sbert_app.services.bundle import Services
from sbert_app.services.timing import DEFAULT_SECONDS, Course, Waiting
from sbert_app.services.validation import whole_number
from sbert_app.timing.experiment import Moment
from sbert_app.timing.result import MOST_SENTENCES
from sbert_app.ui.kit.events import handler
from sbert_app.ui.kit.visitors import visitor_of

TOLD_EVERY = 0.5  # seconds


class TimingEndpoint:
    """One method, the endpoint. Its docstring is the API page."""

    def __init__(self, services: Services) -> None:
        self._corpora, self._timings, self._limits = services.corpora, services.timings, services.bench.settings.limits

    def timing(self, lines: str, sentences: float, seconds: float, model: str, request: gr.Request) -> Iterator[dict[str, Any]]:
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
        seconds = whole_number(seconds, "number of seconds", 1, self._timings.most_seconds)
        stop = Stop(visitor_of(request, self._corpora.hosted))
        told, result = 0.0, None
        for step in self._timings.race(self._course(lines), model, seconds, stop):
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


def build(services: Services) -> None:
    """Add the endpoint to the page that is being drawn."""
    endpoint = TimingEndpoint(services)
    with gr.Row(visible=False):
        inputs = [gr.Textbox(""), gr.Number(10_000), gr.Number(DEFAULT_SECONDS), gr.Textbox(DEFAULT_ENCODER)]
        gr.Button().click(handler(endpoint.timing), inputs, gr.JSON(), api_name="timing", concurrency_limit=None)
