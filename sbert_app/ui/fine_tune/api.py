"""The named endpoints on labelled data: /fine_tune and /evaluate."""

import time
from collections.abc import Iterator
from typing import Any

import gradio as gr

from sbert_app.labelled.columns import guess_mapping
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runs.plan import QUICK
from sbert_app.runs.result import summary
from sbert_app.services.bundle import Services
from sbert_app.services.evaluation import SBERT
from sbert_app.services.validation import one_of
from sbert_app.tables import read_table
from sbert_app.training.objectives import OBJECTIVES
from sbert_app.ui.kit.events import handler
from sbert_app.ui.kit.uploads import uploaded
from sbert_app.ui.kit.visitors import visitor_of

POLL_SECONDS = 0.5
NO_FILE = "Send a file with labelled pairs or triplets."


class TrainingEndpoints:
    """One method an endpoint. The docstrings are the API page."""

    def __init__(self, services: Services) -> None:
        self._trainings, self._evaluation, self._limits = services.trainings, services.evaluation, services.bench.settings.limits

    def fine_tune(self, file: str | None, objective: str, preset: str, model: str, owner: str) -> Iterator[dict[str, Any]]:
        """Train on labelled pairs or triplets and get a verdict. Closing the call does not stop the run.

        Args:
            file: sentence1, sentence2, score or label; or anchor, positive, negative.
            objective: classification, regression, triplet, cosent or ranking. Empty: chosen from the columns.
            preset: quick, thorough, or "as in the paper".
            model: The encoder to start from, a name from /models.
            owner: Hosted apps only: a secret of at least 16 characters of your own; whoever has it sees the run.

        Returns:
            While it runs: run, state, step, steps, loss. At the end also model (a name for all endpoints), verdict,
            before, after, difference, seconds, pairs_per_second.
        """
        with uploaded(file, NO_FILE) as path:
            table = read_table(path, self._limits)
        offer = self._trainings.data.read(table, guess_mapping(table.frame))
        plan = self._trainings.plan(preset or QUICK, offer, model, objective=one_of(objective, "objective", OBJECTIVES))
        run = self._trainings.start(offer, plan, owner)
        while True:
            progress = self._trainings.progress(run.id, owner)
            steps = [event for event in progress.events if event["type"] == "step"][-1:]
            state = {"run": run.id, "state": progress.info.state, "message": progress.info.message}
            yield state | {key: steps[0][key] for key in ("step", "steps", "loss") if steps}
            if not progress.live:
                break
            time.sleep(POLL_SECONDS)
        if progress.result:
            yield state | {"model": progress.info.model} | summary(progress.result)

    def evaluate(self, file: str | None, model: str, systems: list[str], request: gr.Request) -> dict[str, Any]:
        """Measure systems on labelled pairs or triplets.

        Args:
            file: sentence1, sentence2, score or label; or anchor, positive, negative.
            model: The encoder of the system sbert, a name from /models.
            systems: Of sbert, cross-encoder, word-overlap.

        Returns:
            Per system: model, the measures as fractions (spearman and pearson; average_precision, accuracy and f1; or
            triplet_accuracy), sentences, seconds.
        """
        with uploaded(file, NO_FILE) as path:
            reading = self._evaluation.read(read_table(path, self._limits))
        visitor = visitor_of(request, self._trainings.hosted)
        results = self._evaluation.evaluate(reading.examples, model, systems or [SBERT], visitor=visitor)
        return {r.system: {"model": r.model, **r.measures, "sentences": r.sentences, "seconds": r.seconds} for r in results}


def build(services: Services) -> None:
    """Add the endpoints to the page that is being drawn. Files pass through gr.File, which takes no path of the server."""
    endpoints = TrainingEndpoints(services)
    with gr.Row(visible=False):
        train = [gr.File(), gr.Textbox(""), gr.Textbox(QUICK), gr.Textbox(DEFAULT_ENCODER), gr.Textbox("")]
        gr.Button().click(handler(endpoints.fine_tune), train, gr.JSON(), api_name="fine_tune", concurrency_limit=None)
        measure = [gr.File(), gr.Textbox(DEFAULT_ENCODER), gr.JSON([SBERT])]
        gr.Button().click(handler(endpoints.evaluate), measure, gr.JSON(), api_name="evaluate", concurrency_limit=None)
