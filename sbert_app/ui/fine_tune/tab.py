"""The Fine-tune tab in four steps: data, settings, training, verdict."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.labelled.columns import KINDS
from sbert_app.runs.plan import Plan
from sbert_app.services.fine_tune import BUSY, FineTuneService
from sbert_app.services.labelled import TrainingData
from sbert_app.services.trained_models import TrainedModels
from sbert_app.tables import Table
from sbert_app.ui.fine_tune import view
from sbert_app.ui.fine_tune.plan_panel import PlanPanel, Values, choice
from sbert_app.ui.fine_tune.run_panel import RunPanel
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.kit.events import PRIVATE, Updates, handler
from sbert_app.ui.kit.uploads import uploaded

EXAMPLES = {
    "requests_scored.csv": "scored pairs",
    "instructions_labelled.csv": "labelled pairs",
    "messages_triplets.csv": "triplets",
}
FILE_LABEL = "Labelled pairs or triplets: csv, tsv, jsonl, json, parquet, xlsx"
SHOW_RUN = "() => document.getElementById('step-live')?.scrollIntoView({behavior: 'smooth'})"


def build(service: FineTuneService, models: TrainedModels, session_id: gr.State, owner: Any, picker: ModelPicker) -> RunPanel:
    """Build the tab. Returns the run panel, which can show an active run after the page is loaded."""
    gr.Markdown("Train the encoder on **your labelled pairs**, and see whether it got better.", elem_classes="lead")
    tab = _FineTuneTab(service, session_id, owner, picker.in_use)
    panel = RunPanel(service, models, owner, picker)
    tab.listen(panel)
    return panel


class _FineTuneTab:
    """Steps 1 and 2, without visitors' data. Steps 3 and 4 are RunPanel."""

    def __init__(self, service: FineTuneService, session_id: gr.State, owner: Any, model: gr.State) -> None:
        self._service, self._session_id, self._owner, self._model = service, session_id, owner, model
        self._draw_data()
        self._draw_settings()

    def _draw_data(self) -> None:
        gr.HTML(view.step(1, "Data"), js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.examples = {
                name: gr.Button(f"Example: {title}", size="sm", elem_id=f"example-{Path(name).stem}")
                for name, title in EXAMPLES.items()
            }
        self.file = gr.File(label=FILE_LABEL, height=150, elem_id="labelled-file")
        self.refused = gr.HTML(elem_id="refused", js_on_load=None)
        self.summary = gr.HTML(view.no_data(), elem_id="labelled", js_on_load=None)
        with gr.Accordion("Columns", open=False, visible=False, elem_id="mapping") as self.mapping:
            self.kind = gr.Radio([(title, kind) for kind, title in KINDS.items()], label="Read as", elem_id="kind")
            with gr.Row():
                self.first = choice("First sentence (anchor)", "first-column")
                self.second = choice("Second sentence (positive)", "second-column")
                self.third = choice("Negative", "third-column")
                self.target = choice("Score or label", "target-column")
            self.positive = choice("Label for “same meaning”", "positive-label")

    def _draw_settings(self) -> None:
        with gr.Column(visible=False, elem_id="step-settings") as self.settings:
            gr.HTML(view.step(2, "Settings"), js_on_load=None)
            self.plan = PlanPanel()
            self.estimate = gr.HTML(elem_id="estimate", js_on_load=None)
            self.start = gr.Button("Start training", variant="primary", elem_id="start")

    def listen(self, panel: RunPanel) -> None:
        """Connect events; `panel` shows the run that is started."""
        self._panel = panel
        columns: list[Any] = [self.kind, self.first, self.second, self.third, self.target, self.positive]
        everything = {self._session_id, self._model, self._owner, self.plan.preset, *columns, *self.plan.tuned}
        settings = [*self.plan.tuned, self.plan.advice]
        outputs = [self.summary, self.mapping, *columns, self.settings, *settings]
        estimate: dict[str, Any] = {"fn": handler(self._on_estimate), "inputs": everything, "outputs": self.estimate} | PRIVATE
        replaced = [*outputs, self.refused, self.file]
        uploaded = [self._session_id, self.file, self.plan.preset, self._model]
        upload = self.file.upload(handler(self._on_file), uploaded, replaced, **PRIVATE)
        self.file.clear(handler(self._on_clear), self._session_id, [*outputs, self.refused], **PRIVATE)
        upload.success(concurrency_id="estimate", concurrency_limit=2, **estimate)
        for name, button in self.examples.items():
            inputs = [self._session_id, self.plan.preset, self._model]
            loaded = button.click(handler(self._on_example(name)), inputs, replaced, **PRIVATE)
            loaded.success(concurrency_id="estimate", concurrency_limit=2, **estimate)
        remapped = gr.on(
            [c.input for c in columns], handler(self._on_columns), everything, outputs, trigger_mode="always_last", **PRIVATE
        )
        remapped.success(concurrency_id="estimate", concurrency_limit=2, **estimate)
        preset = self.plan.preset.input(handler(self._on_preset), everything, settings, **PRIVATE)
        preset.success(concurrency_id="estimate", concurrency_limit=2, **estimate)
        self.plan.objective.input(handler(self.plan.explain), self.plan.objective, settings, **PRIVATE)
        tuned = [c.input for c in self.plan.tuned]
        gr.on(tuned, concurrency_id="estimate", concurrency_limit=2, trigger_mode="always_last", **estimate)
        started = self.start.click(handler(self._on_start), everything, self._panel.outputs, **PRIVATE)
        started.success(None, None, None, js=SHOW_RUN)

    def _on_file(self, session_id: str, file: str | None, preset: str, model: str) -> Updates:
        try:
            with uploaded(file, "Choose a file with labelled pairs.") as path:
                return {**self._load(session_id, self._service.labelled.read_file(path), preset, model), self.refused: ""}
        except UserError as error:
            gr.Warning(str(error), title="File not loaded")
            return {self.refused: view.refused(Path(file or "").name, str(error)), self.file: None}

    def _on_clear(self, session_id: str) -> Updates:
        self._service.labelled.clear(session_id)
        hidden = {self.mapping: gr.Accordion(visible=False), self.settings: gr.Column(visible=False)}
        return {self.summary: view.no_data(), self.refused: "", **hidden}

    def _on_example(self, name: str) -> Callable[[str, str, str], Updates]:
        def on_example(session_id: str, preset: str, model: str) -> Updates:
            updates = self._load(session_id, self._service.labelled.example(name), preset, model)
            return {**updates, self.file: None, self.refused: ""}

        return on_example

    def _load(self, session_id: str, table: Table, preset: str, model: str) -> Updates:
        return self._show(self._service.labelled.load(session_id, table), preset, model)

    def _on_columns(self, values: Values) -> Updates:
        updates = self._show(self._read(values), values[self.plan.preset], values[self._model])
        # Unchanged values are not sent back, because the user may have changed them meanwhile.
        for component in (self.first, self.second, self.third, self.target, self.positive):
            if updates[component]["value"] == values[component]:
                del updates[component]["value"]
        del updates[self.kind]
        return updates

    def _show(self, data: TrainingData, preset: str, model: str) -> Updates:
        """Show the data as read, and settings that fit it."""
        table, mapping, examples = data.table, data.mapping, data.reading.examples
        first, second, third = (*mapping.sentences, None)[:3]
        labelled = mapping.kind == "labelled"
        return {
            self.summary: view.training_data(data),
            self.mapping: gr.Accordion(visible=True),
            self.kind: mapping.kind,
            self.first: gr.update(choices=[*table.frame.columns], value=first),
            self.second: gr.update(choices=[*table.frame.columns], value=second),
            self.third: gr.update(choices=[*table.frame.columns], value=third, visible=mapping.kind == "triplets"),
            self.target: gr.update(choices=[*table.frame.columns], value=mapping.target or None, visible=bool(mapping.target)),
            self.positive: gr.update(
                choices=list(examples.labels), value=examples.labels[examples.positive] if labelled else None, visible=labelled
            ),
            self.settings: gr.Column(visible=True),
            **self.plan.show(self._service.plan(preset, data, model), mapping.kind),
        }

    def _on_preset(self, values: Values) -> Updates:
        data = self._read(values)
        return self.plan.show(self._service.plan(values[self.plan.preset], data, values[self._model]), data.reading.examples.kind)

    def _on_estimate(self, values: Values) -> Iterator[str]:
        yield view.ESTIMATING
        try:
            data = self._read(values)
            expected = self._service.estimate(data, self._plan(values, data))
        except UserError:
            yield ""
            raise
        yield view.estimate(expected, self._service.device)

    def _on_start(self, values: Values) -> Updates:
        if self._service.active_run(values[self._owner]):
            raise UserError(BUSY)
        data = self._read(values)
        run = self._service.start(data, self._plan(values, data), values[self._owner])
        return self._panel.attach(run.id, values[self._owner])

    def _read(self, values: Values) -> TrainingData:
        """Read the session's table with the columns set on the page."""
        session_id, labelled = values[self._session_id], self._service.labelled
        sentences = [values[self.first], values[self.second], values[self.third]]
        table = labelled.current(session_id).table
        mapping = labelled.mapping(table, values[self.kind], sentences, values[self.target], values[self.positive])
        return labelled.remap(session_id, mapping)

    def _plan(self, values: Values, data: TrainingData) -> Plan:
        return self._service.plan(values[self.plan.preset], data, values[self._model], **self.plan.changes(values))
