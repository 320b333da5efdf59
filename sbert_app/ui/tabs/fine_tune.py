"""Fine-tune: labelled pairs in, siamese training, a verdict, a model out. Four steps on one page."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.services.fine_tune import FineTuneService
from sbert_app.services.labelled import Offer
from sbert_app.services.trained_models import TrainedModels
from sbert_app.tables import Table
from sbert_app.training.columns import KINDS, Mapping
from sbert_app.training.objectives import CONCATENATIONS, DISTANCES, OBJECTIVES
from sbert_app.training.plan import PRESETS, QUICK, Plan
from sbert_app.ui.events import handler
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.run_panel import RunPanel, Updates
from sbert_app.ui.views import fine_tune as view

EXAMPLES = {
    "requests_scored.csv": "scored pairs",
    "instructions_labelled.csv": "labelled pairs",
    "messages_triplets.csv": "triplets",
}
FILE_LABEL = "sentence1, sentence2, score or label · anchor, positive, negative · csv, tsv, jsonl, json, parquet, xlsx"
SHOW_RUN = "() => document.getElementById('step-live')?.scrollIntoView({behavior: 'smooth'})"

Values = dict[Any, Any]


def build(service: FineTuneService, models: TrainedModels, session_id: gr.State, owner: Any, picker: ModelPicker) -> RunPanel:
    """Draw the tab and wire it. Returns the panel that can attach a freshly loaded page to the run that is going on."""
    gr.Markdown("Teach the encoder what is **close in your data**, and see whether it really got better.", elem_classes="lead")
    tab = _FineTuneTab(service, session_id, owner, picker.in_use)
    panel = RunPanel(service, models, owner, picker)
    tab.listen(panel)
    return panel


class _FineTuneTab:
    """Steps one and two; the run itself is RunPanel's. Holds no visitor's data."""

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
        self.offered = gr.HTML(view.nothing(), elem_id="labelled", js_on_load=None)
        with gr.Accordion("Columns", open=False, visible=False, elem_id="mapping") as self.mapping:
            self.kind = gr.Radio([(title, kind) for kind, title in KINDS.items()], label="Read as", elem_id="kind")
            with gr.Row():
                self.first = _choice("First sentence (anchor)", "first-column")
                self.second = _choice("Second sentence (positive)", "second-column")
                self.third = _choice("Negative", "third-column")
                self.target = _choice("Score or label", "target-column")
            self.positive = _choice("The label that means “the same”", "positive-label")

    def _draw_settings(self) -> None:
        with gr.Column(visible=False, elem_id="step-settings") as self.settings:
            gr.HTML(view.step(2, "Settings"), js_on_load=None)
            self.preset = gr.Radio(list(PRESETS), value=QUICK, label="Preset", elem_id="preset")
            self.objective = _choice("Objective", "objective")
            self.advice = gr.HTML(elem_id="advice", js_on_load=None)
            with gr.Accordion("All settings", open=False, elem_id="all-settings"):
                with gr.Row():
                    self.epochs = gr.Number(4, label="Epochs", precision=0, minimum=1, maximum=100, elem_id="epochs")
                    self.batch_size = gr.Number(16, label="Batch size", precision=0, minimum=2, maximum=1024, elem_id="batch-size")
                    self.rate = gr.Number(2e-5, label="Learning rate", elem_id="rate")
                    self.seed = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="seed")
                with gr.Row():
                    self.concatenation = gr.Dropdown(
                        list(CONCATENATIONS), label="Softmax sees (Table 6 of the paper)", elem_id="concatenation"
                    )
                    self.margin = gr.Number(1.0, label="Triplet margin ε", elem_id="margin")
                    self.distance = gr.Dropdown(list(DISTANCES), value="euclidean", label="Triplet distance", elem_id="distance")
                self.curve = gr.Checkbox(
                    label="Learning curve: train once more on half of the examples, to see whether more labels would help",
                    elem_id="learning-curve",
                )
            self.estimate = gr.HTML(elem_id="estimate", js_on_load=None)
            self.start = gr.Button("Start training", variant="primary", elem_id="start")

    def listen(self, panel: RunPanel) -> None:
        """Wire it; a run that is started is shown by the panel."""
        self._panel = panel
        private: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
        columns: list[Any] = [self.kind, self.first, self.second, self.third, self.target, self.positive]
        tuned: list[Any] = [self.objective, self.epochs, self.batch_size, self.rate, self.seed, self.concatenation]
        tuned += [self.margin, self.distance, self.curve]
        everything = {self._session_id, self._model, self._owner, self.preset, *columns, *tuned}
        shown = [self.offered, self.mapping, *columns, self.settings, *tuned, self.advice]
        estimate: dict[str, Any] = {"fn": handler(self._on_estimate), "inputs": everything, "outputs": self.estimate} | private
        uploaded = self.file.upload(
            handler(self._on_file), [self._session_id, self.file, self.preset, self._model], shown, **private
        )
        uploaded.failure(lambda: None, None, self.file, **private)
        uploaded.success(concurrency_limit=2, **estimate)
        for name, button in self.examples.items():
            chosen = button.click(
                handler(self._on_example(name)), [self._session_id, self.preset, self._model], [*shown, self.file], **private
            )
            chosen.success(concurrency_limit=2, **estimate)
        remapped = gr.on(
            [c.input for c in columns], handler(self._on_columns), everything, shown, trigger_mode="always_last", **private
        )
        remapped.success(concurrency_limit=2, **estimate)
        preset = self.preset.input(handler(self._on_preset), everything, [*tuned, self.advice], **private)
        preset.success(concurrency_limit=2, **estimate)
        self.objective.input(handler(view.objective), self.objective, self.advice, **private)
        gr.on([c.input for c in tuned], concurrency_limit=2, trigger_mode="always_last", **estimate)
        started = self.start.click(handler(self._on_start), everything, self._panel.outputs, **private)
        started.success(None, None, None, js=SHOW_RUN)

    def _on_file(self, session_id: str, file: str | None, preset: str, model: str) -> Updates:
        return self._offer(session_id, self._service.data.read_file(Path(file)), preset, model) if file else {}

    def _on_example(self, name: str) -> Callable[[str, str, str], Updates]:
        def on_example(session_id: str, preset: str, model: str) -> Updates:
            return {**self._offer(session_id, self._service.data.example(name), preset, model), self.file: None}

        return on_example

    def _offer(self, session_id: str, table: Table, preset: str, model: str) -> Updates:
        return self._show(table, self._service.data.offer(session_id, table), preset, model)

    def _on_columns(self, values: Values) -> Updates:
        table = self._service.data.table(values[self._session_id])
        updates = self._show(table, self._chosen(table, values), values[self.preset], values[self._model])
        # What was just chosen is not sent back: meanwhile the person may have chosen something else.
        for component in (self.first, self.second, self.third, self.target, self.positive):
            if updates[component]["value"] == values[component]:
                del updates[component]["value"]
        del updates[self.kind]
        return updates

    def _show(self, table: Table, mapping: Mapping, preset: str, model: str) -> Updates:
        """The data as it is read now, and settings that fit it."""
        offer = self._service.data.read(table, mapping)
        examples = offer.reading.examples
        first, second, third = (*mapping.sentences, None)[:3]
        labelled = mapping.kind == "labelled"
        return {
            self.offered: view.offer(offer),
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
            **self._settings(self._service.plan(preset, offer, model), mapping.kind),
        }

    def _settings(self, plan: Plan, kind: str) -> Updates:
        choices = [(f"{o.title}{' (paper)' if o.paper else ''}", o.name) for o in OBJECTIVES.values() if kind in o.kinds]
        return {
            self.objective: gr.Dropdown(choices=choices, value=plan.objective),
            self.epochs: plan.options.epochs,
            self.batch_size: plan.options.batch_size,
            self.rate: plan.options.learning_rate,
            self.seed: plan.options.seed,
            self.concatenation: gr.Dropdown(value=plan.adjust.concatenation, visible=kind == "labelled"),
            self.margin: gr.Number(value=plan.adjust.margin, visible=kind == "triplets"),
            self.distance: gr.Dropdown(value=plan.adjust.distance, visible=kind == "triplets"),
            self.curve: plan.learning_curve,
            self.advice: view.objective(plan.objective),
        }

    def _on_preset(self, values: Values) -> Updates:
        offer = self._read(values)
        return self._settings(self._service.plan(values[self.preset], offer, values[self._model]), offer.reading.examples.kind)

    def _on_estimate(self, values: Values) -> Iterator[str]:
        yield view.ESTIMATING
        expected = ""
        try:
            offer = self._read(values)
            expected = view.estimate(self._service.estimate(offer, self._plan(values, offer)), self._service.device)
        finally:
            yield expected

    def _on_start(self, values: Values) -> Updates:
        offer = self._read(values)
        run = self._service.start(offer, self._plan(values, offer), values[self._owner])
        return self._panel.attach(run.id, values[self._owner])

    def _read(self, values: Values) -> Offer:
        table = self._service.data.table(values[self._session_id])
        return self._service.data.read(table, self._chosen(table, values))

    def _plan(self, values: Values, offer: Offer) -> Plan:
        changes = {
            "objective": values[self.objective],
            "epochs": values[self.epochs],
            "batch_size": values[self.batch_size],
            "learning_rate": values[self.rate],
            "seed": values[self.seed],
            "concatenation": values[self.concatenation],
            "margin": values[self.margin],
            "distance": values[self.distance],
            "learning_curve": values[self.curve],
        }
        return self._service.plan(values[self.preset], offer, values[self._model], **changes)

    def _chosen(self, table: Table, values: Values) -> Mapping:
        sentences = [values[self.first], values[self.second], values[self.third]]
        return self._service.data.mapping(table, values[self.kind], sentences, values[self.target], values[self.positive])


def _choice(label: str, elem_id: str) -> gr.Dropdown:
    # Choices change with the file, and Gradio goes by those of a moment ago: the services check the value.
    return gr.Dropdown(label=label, allow_custom_value=True, elem_id=elem_id)
