"""Panel with the settings of a run: preset, objective, and all other settings folded."""

from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.runs.plan import PRESETS, QUICK, Plan
from sbert_app.services.validation import one_of
from sbert_app.training.choices import CONCATENATIONS, DISTANCES, OBJECTIVES
from sbert_app.ui.fine_tune import view
from sbert_app.ui.kit.events import Values

LEARNING_CURVE = "Learning curve: also train on half of the examples, to see whether more labels would help"


class PlanPanel:
    """Components, and the button that starts: always below the preset, above what folds. `tuned`: the settings a plan fills."""

    def __init__(self) -> None:
        self.base = gr.State("")  # the model that the settings were made for
        self.preset = gr.Radio(list(PRESETS), value=QUICK, label="Preset", elem_id="preset")
        self.objective = choice("Objective", "objective")
        self.advice = gr.HTML(elem_id="advice", js_on_load=None)
        self.start = gr.Button("Start training", variant="primary", elem_id="start")
        self.estimate = gr.HTML(elem_id="estimate", js_on_load=None)
        with gr.Accordion("All settings", open=False, elem_id="all-settings"):
            with gr.Row():
                self._epochs = gr.Number(4, label="Epochs (1 to 100)", elem_id="epochs")
                self._batch_size = gr.Number(16, label="Batch size (2 to 1,024)", elem_id="batch-size")
                self._rate = gr.Number(2e-5, label="Learning rate", elem_id="rate")
                self._seed = gr.Number(0, label="Seed (0 or more)", elem_id="seed")
            with gr.Row():
                self._concatenation = gr.Dropdown(
                    list(CONCATENATIONS), label="Softmax input (Table 6 of the paper)", elem_id="concatenation"
                )
                self._margin = gr.Number(1.0, label="Triplet margin ε", elem_id="margin")
                self._distance = gr.Dropdown(list(DISTANCES), value="euclidean", label="Triplet distance", elem_id="distance")
            self._curve = gr.Checkbox(label=LEARNING_CURVE, elem_id="learning-curve")

    @property
    def tuned(self) -> list[Any]:
        options = [self._epochs, self._batch_size, self._rate, self._seed]
        return [self.objective, *options, self._concatenation, self._margin, self._distance, self._curve]

    def show(self, plan: Plan, kind: str) -> Values:
        """Show a plan, with only the settings that apply to this kind of examples."""
        choices = [(f"{o.title}{' (paper)' if o.paper else ''}", o.name) for o in OBJECTIVES.values() if kind in o.kinds]
        return {
            self.objective: gr.Dropdown(choices=choices, value=plan.objective),
            self._epochs: plan.options.epochs,
            self._batch_size: plan.options.batch_size,
            self._rate: plan.options.learning_rate,
            self._seed: plan.options.seed,
            self._concatenation: gr.Dropdown(value=plan.adjust.concatenation, visible=plan.objective == "classification"),
            self._margin: gr.Number(value=plan.adjust.margin, visible=plan.objective == "triplet"),
            self._distance: gr.Dropdown(value=plan.adjust.distance, visible=plan.objective == "triplet"),
            self._curve: plan.learning_curve,
            self.advice: view.objective(plan.objective),
            self.base: plan.base,
        }

    def explain(self, objective: str) -> Values:
        """Show an objective's advice and settings. Raises UserError for an unknown one."""
        if not one_of(objective, "objective", OBJECTIVES):
            raise UserError("Choose an objective.")
        return {
            self._concatenation: gr.Dropdown(visible=objective == "classification"),
            self._margin: gr.Number(visible=objective == "triplet"),
            self._distance: gr.Dropdown(visible=objective == "triplet"),
            self.advice: view.objective(objective),
        }

    def changes(self, values: Values) -> dict[str, Any]:
        """The settings on the page, by their names in the plan."""
        options = ("epochs", "batch_size", "learning_rate", "seed")
        names = ("objective", *options, "concatenation", "margin", "distance", "learning_curve")
        return {name: values[component] for name, component in zip(names, self.tuned, strict=True)}


def choice(label: str, elem_id: str) -> gr.Dropdown:
    """A dropdown whose choices change with the file. The services check the value, as Gradio would check outdated choices."""
    return gr.Dropdown(label=label, allow_custom_value=True, elem_id=elem_id)
