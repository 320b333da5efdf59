"""Panels of the first two steps: the training data with its columns and its split, and the settings of a run."""

from typing import Any

import gradio as gr

from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.validation import one_of
from sbert_app.labelled.columns import KINDS, chosen_mapping
from sbert_app.labelled.example_set import PAIRS, SENTENCES
from sbert_app.runs.plan import PRESETS, QUICK, Plan
from sbert_app.runtime.workbench import Workbench
from sbert_app.training.options import CONCATENATIONS, DISTANCES, OBJECTIVES, PAIR_KINDS, PAIR_OBJECTIVE, RANGES, TrainingOptions
from sbert_app.ui.fine_tune import view
from sbert_app.ui.fine_tune.label_panel import LabelPanel
from sbert_app.ui.header import SCORERS_AT_FIRST, ModelPicker
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import Values

EXAMPLES = [("requests_scored", "scored pairs"), ("instructions_labelled", "labelled pairs"), ("messages_triplets", "triplets")]
FILE_LABEL = "Labelled pairs or triplets: csv, tsv, jsonl, json, parquet, xlsx"
SPLIT_CHOICES = [("By sentences: no sentence is in two parts", SENTENCES), ("By pairs only: a sentence may be in two parts", PAIRS)]
NO_COLUMN = ("No column", "")
OWN_FILES = "A file of its own replaces the part cut from the data. It needs the same kind of examples and at least 20 rows."
ENCODER = ("The encoder: the model in the bar on top", "")
WHEN_IT_PAYS = (
    "A cross-encoder reads both sentences together: it pays as a second opinion on pairs near a threshold, where it beats "
    "the cosine, and is too slow to search with."
)
LEARNING_CURVE = "Learning curve: also train on half of the examples, to see whether more labels would help"


class DataPanel:
    """Step 1, without visitors' data."""

    def __init__(self, bench: Workbench, session: gr.State, picker: ModelPicker) -> None:
        self._bench, self.session = bench, session
        self.shown = gr.State()  # what the columns are on the page: the ColumnRoles of the data that it shows
        with gr.Column(elem_id="step-data"):
            gr.HTML(view.STEP.format(1, "Data"), js_on_load=None)
            with gr.Accordion("Choose labelled pairs", elem_id="data-fold") as self.fold:  # closed once data is read
                with gr.Row(elem_classes="examples"):
                    self.examples = {n: gr.Button(f"Example: {kind}", size="sm", elem_id=f"example-{n}") for n, kind in EXAMPLES}
                    self.label = gr.Button("No labels? Label pairs of the open corpus", size="sm", elem_id="label-pairs")
                self.labels = LabelPanel(bench, session, picker)
                self.file = gr.File(label=FILE_LABEL, height=150, elem_id="labelled-file")
                self.summary = gr.HTML(html.empty(view.NO_DATA), elem_id="labelled", js_on_load=None)
                self._draw_split()
                self._draw_columns()
            self.notes = gr.HTML(elem_id="data-notes", js_on_load=None)
            self.refused = gr.HTML(elem_id="refused", js_on_load=None)
        self.columns = [self.kind, self.first, self.second, self.third, self.target, self.positive]
        self.split = [self.split_by, self.split_column]
        self.parts = {preparing.TEST: self.test_file, preparing.DEV: self.dev_file}
        self._hidden: list[Any] = [self.mapping, self.split_row, self.own_files]  # until data is read
        # What `show` updates.
        self.outputs = [self.fold, self.shown, self.summary, self.notes, *self._hidden, *self.columns, *self.split]
        self.outputs += self.parts.values()

    def _draw_split(self) -> None:
        with gr.Row(visible=False, elem_id="split-choice") as self.split_row:
            self.split_by = gr.Radio(SPLIT_CHOICES, value=SENTENCES, label="Split", scale=3, min_width=280, elem_id="split-by")
            self.split_column = gr.Dropdown(
                [NO_COLUMN], value="", label="Or by the values of a column, such as topic", allow_custom_value=True, scale=2,
                min_width=240, elem_id="split-column",
            )  # fmt: skip
        with gr.Accordion("Own test or dev file", open=False, visible=False, elem_id="own-files") as self.own_files:
            gr.HTML(html.hint(OWN_FILES), js_on_load=None)
            with gr.Row():
                self.test_file = gr.File(label="Test file: held out for the verdict", height=120, elem_id="test-file")
                self.dev_file = gr.File(label="Dev file: chooses the checkpoint", height=120, elem_id="dev-file")

    def _draw_columns(self) -> None:
        with gr.Accordion("Columns", open=False, visible=False, elem_id="mapping") as self.mapping:
            self.kind = gr.Radio([(title, kind) for kind, title in KINDS.items()], label="Read as", elem_id="kind")
            with gr.Row():
                self.first = choice("First sentence (anchor)", "first-column")
                self.second = choice("Second sentence (positive)", "second-column")
                self.third = choice("Negative", "third-column")
                self.target = choice("Score or label", "target-column")
            self.positive = choice("Label for “same meaning”", "positive-label")

    def show(self, data: preparing.TrainingData) -> Values:
        columns, mapping, examples = [*data.table.frame.columns], data.mapping, data.reading.examples
        boxes = self.first, self.second, self.third, self.target
        chosen = (*(*mapping.sentences, None)[:3], mapping.target or None)
        labelled = mapping.kind == "labelled"
        positive = examples.labels[examples.positive] if labelled else None
        return {
            **self.show_split(data),
            **{component: gr.update(visible=True) for component in self._hidden},
            self.fold: gr.Accordion(view.data_line(data)),
            self.shown: mapping,
            self.kind: mapping.kind,
            **{box: gr.update(choices=columns, value=name, visible=bool(name)) for box, name in zip(boxes, chosen, strict=True)},
            self.positive: gr.update(choices=list(examples.labels), value=positive, visible=labelled),
        }

    def show_split(self, data: preparing.TrainingData) -> Values:
        columns = [NO_COLUMN, *((name, name) for name in data.table.frame.columns if name != data.mapping.target)]
        summaries = {self.summary: view.training_data(data), self.notes: view.data_notes(data), self.split_by: data.choice.by}
        return summaries | {self.split_column: gr.update(choices=columns, value=data.choice.column)}

    def read(self, values: Values) -> preparing.TrainingData:
        """Read the session's table with the columns and the split set on the page."""
        session, sentences = values[self.session], [values[box] for box in (self.first, self.second, self.third)]
        frame = preparing.current(session).table.frame
        mapping = chosen_mapping(frame, values[self.kind], sentences, values[self.target], values[self.positive])
        return preparing.remap(self._bench, session, mapping, values[self.split_by] or "", values[self.split_column] or "")


class PlanPanel:
    """Components, and the button that starts: always below the preset, above what folds. `tuned`: the settings a plan fills.

    options: those by the names of the job's options; adjusted: the settings of the objective, by their names in the plan.
    """

    def __init__(self) -> None:
        self.base = gr.State("")  # the model that the settings are for, "" without data
        with gr.Accordion("How to train", elem_id="plan-fold") as self.fold:  # closed once a training runs
            self._draw()
        self.tuned: list[Any] = [self.objective, *self._numbers.values(), *self.adjusted.values(), self._curve]
        self.options = {"preset": self.preset, "objective": self.objective, **self._numbers, "learning_curve": self._curve}
        self.options["cross_encoder"] = self.cross

    def _draw(self) -> None:
        self.cross = gr.Dropdown(
            [ENCODER, *SCORERS_AT_FIRST], value="", label="What is trained", info=WHEN_IT_PAYS, allow_custom_value=True,
            elem_id="trained",
        )  # fmt: skip
        self.preset = gr.Radio(list(PRESETS), value=QUICK, label="Preset", elem_id="preset")
        self.objective = choice("Objective", "objective")
        self.advice = gr.HTML(elem_id="advice", js_on_load=None)
        self.start = gr.Button("Start training", variant="primary", elem_id="start")
        self.estimate = gr.HTML(elem_id="estimate", js_on_load=None)
        with gr.Accordion("All settings", open=False, elem_id="all-settings"):
            with gr.Row():
                usual, within = TrainingOptions(), "{} ({:,} to {:,})"
                epochs, batch = within.format("Epochs", *RANGES["epochs"]), within.format("Batch size", *RANGES["batch_size"])
                self._numbers: dict[str, Any] = {
                    "epochs": gr.Number(usual.epochs, label=epochs, elem_id="epochs"),
                    "batch_size": gr.Number(usual.batch_size, label=batch, elem_id="batch-size"),
                    "learning_rate": gr.Number(usual.learning_rate, label="Learning rate", elem_id="rate"),
                    "seed": gr.Number(usual.seed, label="Seed (0 or more)", elem_id="seed"),
                }
            with gr.Row():
                softmax = gr.Dropdown(list(CONCATENATIONS), label="Softmax input (Table 6 of the paper)", elem_id="concatenation")
                margin = gr.Number(1.0, label="Triplet margin ε", elem_id="margin")
                distance = gr.Dropdown(list(DISTANCES), value="euclidean", label="Triplet distance", elem_id="distance")
                self.adjusted: dict[str, Any] = {"concatenation": softmax, "margin": margin, "distance": distance}
            self._curve = gr.Checkbox(label=LEARNING_CURVE, elem_id="learning-curve")

    def show(self, plan: Plan, kind: str, scorers: list[tuple[str, str]]) -> Values:
        """Show a plan, with only the settings that apply to this kind of examples. scorers: the cross-encoders to choose from."""
        fitting = [OBJECTIVES[PAIR_OBJECTIVE]] if plan.encoder else [o for o in OBJECTIVES.values() if kind in o.kinds]
        choices = [(f"{o.title}{' (paper)' if o.paper else ''}", o.name) for o in fitting]
        chosen = "" if plan.tries else plan.objective
        trained = plan.base if plan.encoder else ""
        if plan.tries:
            choices.insert(0, (view.best_of(plan), chosen))
        updates = self.explain(chosen)
        for name, box in self.adjusted.items():
            updates[box]["value"] = getattr(plan.adjust, name)
        return {
            **updates,
            self.cross: gr.Dropdown(choices=[ENCODER, *scorers], value=trained, visible=kind in PAIR_KINDS),
            self.objective: gr.Dropdown(choices=choices, value=chosen),
            **{box: getattr(plan.options, name) for name, box in self._numbers.items()},
            self.options["learning_curve"]: plan.learning_curve,
            self.base: plan.base,
            self.start: start_button(plan.base),
        }

    def explain(self, objective: str) -> Values:
        """Show an objective's advice and settings; "" is the preset's. Raises UserError for an unknown one."""
        one_of(objective, "objective", OBJECTIVES)
        fits = {"concatenation": "classification", "margin": "triplet", "distance": "triplet"}
        updates = {box: gr.update(visible=objective == fits[name]) for name, box in self.adjusted.items()}
        return {**updates, self.advice: view.objective(objective)}


def start_button(model: str) -> gr.Button:
    """Which model is trained, so that nobody trains a trained one again unknowingly."""
    return gr.Button(f"Start training {html.short(model, view.NAME_LENGTH)}")


def choice(label: str, elem_id: str) -> gr.Dropdown:
    """A dropdown whose choices change with the file. The job checks the value, as Gradio would check outdated choices."""
    return gr.Dropdown(label=label, allow_custom_value=True, elem_id=elem_id)
