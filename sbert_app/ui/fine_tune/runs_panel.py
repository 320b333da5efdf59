"""The folds of what was trained: the table of all runs of the owner, and the models that were saved under a name."""

from collections.abc import Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.jobs.fine_tune import running
from sbert_app.models.files import finding, listing
from sbert_app.runs.plan import BEST
from sbert_app.runs.records import DAMAGED, RunInfo, RunOverview
from sbert_app.runtime.workbench import Workbench
from sbert_app.training.options import OBJECTIVES
from sbert_app.ui.fine_tune import verdict_view, view
from sbert_app.ui.header import ModelPicker, scorer_label
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent
from sbert_app.wording import amount

PICK_SCRIPT = """element.addEventListener('change', event => {
  const radio = event.target.closest('input[name="fine-tune-run"]');
  if (radio) trigger('picked', {run: radio.value});
});
// Gradio changes the rows that are there: a radio button that was chosen would stay so on the row that comes into its place.
const asListed = () => element.querySelectorAll('input').forEach(radio => { radio.checked = radio.defaultChecked; });
watch('value', () => setTimeout(asListed));"""
# The buttons that had the focus are gone after a question or an answer: the keyboard continues here.
FOCUS_KEEP = "() => setTimeout(() => document.getElementById('run-delete-no')?.focus(), 150)"
FOCUS_TABLE = "() => setTimeout(() => document.querySelector('#run-table input:checked, #run-table input')?.focus(), 150)"
HEADER = ("Run", "State", "Verdict", "Before → after", "Created", "Base model", "On disk")
ROW = Markup(
    '<tr><th scope="row"><label><input type="radio" name="fine-tune-run" value="{id}"{checked}> <span>{name}</span></label></th>'
    "{cells}</tr>"
)
CELL = Markup('<td data-label="{}">{}</td>')
SCORES = Markup("<b>{} → {}</b> <small>{}, change {} (95 % interval {} to {})</small>")
# assets/page.js opens and closes the question before a card is deleted, as in the list of corpora.
PICK_MODEL = """element.addEventListener('click', event => {
  const { model, name } = event.target.closest('[data-model]')?.dataset ?? {};
  if (model) trigger('picked', {[model]: name});
});"""
CARD = Markup(
    '<li class="card"><button type="button" data-model="use" data-name="{name}" aria-label="Use {name}"{disabled}><b>{name}</b>'
    '<span>{facts}</span></button><button type="button" class="small" data-corpus="ask" aria-label="Delete {name}">Delete</button>'
    '<p class="ask" role="alert">Delete {name} from this machine? A corpus that it has indexed has to be indexed again. '
    '<button type="button" class="small danger" data-model="delete" data-name="{name}">Delete</button> '
    '<button type="button" class="small" data-corpus="cancel">Keep</button></p></li>'
)


class RunsPanel:
    """Components and their events. `chosen`: the id of the run that the buttons act on, "" for none."""

    def __init__(self, bench: Workbench, owner: Any) -> None:
        self._bench, self._owner = bench, owner
        self.chosen = gr.State("")
        with gr.Accordion("All runs", open=False, elem_id="runs") as self.fold:
            self.table = gr.HTML(elem_id="run-table", js_on_load=PICK_SCRIPT)
            self.message = gr.HTML(elem_id="run-message", js_on_load=None)
            with gr.Row(elem_id="run-actions", elem_classes="end-row"):
                self.open = _button("Open", "run-open")
                self.resume = _button("Resume", "run-resume")
                self.delete = _button("Delete …", "run-delete", variant="stop")
            with gr.Row(elem_classes="end-row", elem_id="run-names"):
                self.new_name = gr.Textbox(label="New name", max_lines=1, interactive=False, elem_id="run-new-name")
                self.rename = _button("Rename", "run-rename")
            with gr.Column(visible=False, elem_id="run-question") as self.question_box:
                self.question = gr.HTML(js_on_load=None)
                with gr.Row(elem_classes="end-row"):
                    self.keep = _button("Keep it", "run-delete-no", interactive=True, min_width=110)
                    self.confirm = _button("Delete it", "run-delete-yes", variant="stop", interactive=True, min_width=110)
        buttons = [self.open, self.resume, self.delete, self.new_name, self.rename]
        # What this panel's own events update.
        self.outputs = [self.chosen, self.table, self.message, *buttons, self.question_box, self.question]

    def listen(self, changed: dict[str, Any]) -> None:
        """Connect events, except for open and resume. changed: what to do after a run was renamed or deleted."""
        run = [self.chosen, self._owner]
        self.fold.expand(handler(self.relisted), self._owner, self.outputs, **PRIVATE)
        self.table.picked(handler(self._on_picked), self._owner, self.outputs, trigger_mode="multiple", **PRIVATE)
        self.delete.click(handler(self._on_delete), run, self.outputs, **PRIVATE).success(None, None, None, js=FOCUS_KEEP)
        self.keep.click(handler(self._unasked), None, self.outputs, **PRIVATE).success(None, None, None, js=FOCUS_TABLE)
        deleted = self.confirm.click(handler(self._on_confirm), run, self.outputs, **PRIVATE)
        deleted.success(**changed).success(None, None, None, js=FOCUS_TABLE)
        names = [self.rename.click, self.new_name.submit]
        gr.on(names, handler(self._on_rename), [*run, self.new_name], self.outputs, **PRIVATE).success(**changed)

    def relisted(self, owner: str) -> Updates:
        """The runs as they are now, none of them chosen."""
        return {self.chosen: "", self.message: "", self.table: self.listed(owner), **self._unasked(), **self._enabled(None)}

    def listed(self, owner: str, chosen: str = "") -> Markup:
        """The table, with a chosen run."""
        return run_table(self._bench.runs.overview(running.rows(self._bench, owner)), chosen)

    def _on_picked(self, owner: str, event: gr.EventData) -> Updates:
        info = running.row(self._bench, sent(event).get("run") or "", owner)
        return {self.chosen: info.id, self.message: chosen_run(info), **self._unasked(), **self._enabled(info)}

    def _on_delete(self, run_id: str, owner: str) -> Updates:
        return {self.question_box: gr.Column(visible=True), self.question: question(running.row(self._bench, run_id, owner))}

    def _on_confirm(self, run_id: str, owner: str) -> Updates:
        name = running.row(self._bench, run_id, owner).name
        running.delete(self._bench, run_id, owner)
        return self.relisted(owner) | {self.message: html.status(f"The run {name} is deleted.")}

    def _on_rename(self, run_id: str, owner: str, name: str) -> Updates:
        running.rename(self._bench, run_id or "", name, owner)
        info = running.row(self._bench, run_id, owner)
        return {self.table: self.listed(owner, run_id), self.message: chosen_run(info), **self._enabled(info), self.new_name: ""}

    def _unasked(self) -> Updates:
        """Hide the question."""
        return {self.question_box: gr.Column(visible=False), self.question: ""}

    def _enabled(self, info: RunInfo | None) -> Updates:
        enabled = dict.fromkeys((self.open, self.new_name, self.rename), info is not None and info.state != DAMAGED)
        enabled |= {self.resume: info is not None and not running.why_no_resume(info), self.delete: info is not None}
        return {component: gr.update(interactive=interactive) for component, interactive in enabled.items()}


def _button(title: str, elem_id: str, interactive: bool = False, min_width: int = 96, variant: Any = "secondary") -> gr.Button:
    return gr.Button(title, variant=variant, size="sm", interactive=interactive, elem_id=elem_id, scale=0, min_width=min_width)


def run_table(runs: Sequence[RunOverview], chosen: str = "") -> Markup:
    """One row for each run, newest first, with a radio button that chooses it."""
    if not runs:
        return html.empty("No runs yet. The first one starts in step 2.")
    head = Markup().join(Markup('<th scope="col">{}</th>').format(title) for title in HEADER)
    rows = Markup().join(_row(run, chosen) for run in runs)
    caption = Markup('<caption class="hint">Choose a run, then what to do with it.</caption>')
    return Markup('<table class="plain runs">{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(caption, head, rows)


def _row(run: RunOverview, chosen: str) -> Markup:
    info = run.info
    state = "Damaged: delete it" if info.state == DAMAGED else view.STATES[info.state].split(":")[0]
    word = scores = ""
    if verdict := run.verdict:
        first = verdict.changes[0]
        word = verdict_view.TOO_FEW[0] if verdict.examples < LEAST_HELD_OUT else verdict.word.capitalize()
        scores = SCORES.format(*first.sides, verdict_view.METRIC_NAMES[first.metric], *first.interval)
    texts = (state, word, scores, info.created[:16], _base(run), f"{run.nbytes / 1e6:,.1f} MB")
    cells = Markup().join(CELL.format(label, text or "–") for label, text in zip(HEADER[1:], texts, strict=True))
    return ROW.format(id=info.id, checked=Markup(" checked") if info.id == chosen else "", name=info.name, cells=cells)


def _base(run: RunOverview) -> Markup | str:
    """The base model, and how it is trained."""
    if run.plan is None:
        return ""
    objective = run.objective or ("" if run.plan.tries else run.plan.objective)
    title, epochs = OBJECTIVES[objective].title if objective else BEST.capitalize(), run.plan.options.epochs
    return Markup("{}<small>{}, {}</small>").format(run.plan.base, title, amount(epochs, "epoch"))


def chosen_run(info: RunInfo) -> Markup:
    """The run that the buttons act on, and why it cannot be resumed."""
    return html.hint(Markup("Chosen: <b>{}</b>, {}. {}").format(info.name, info.created[:16], running.why_no_resume(info)))


def question(info: RunInfo) -> Markup:
    """Ask before a run is deleted for good."""
    return Markup(
        '<p class="question" role="alert">Delete the run <b>{}</b> of {}? Its model, curve and verdict are deleted for good. '
        "A model that you saved under a name stays.</p>"
    ).format(info.name, info.created[:16])


class SavedModels:
    """A hosted app saves none, and shows no fold."""

    def __init__(self, bench: Workbench, picker: ModelPicker) -> None:
        self._bench, self._picker = bench, picker
        with gr.Accordion("Saved models", open=False, visible=not bench.settings.hosted, elem_id="saved-models") as fold:
            self._list = gr.HTML(elem_id="saved-model-list", js_on_load=PICK_MODEL)
        fold.expand(handler(self._listed), None, self._list, **PRIVATE)
        self._list.picked(handler(self._on_picked), picker.in_use, [self._list, *picker.outputs], **PRIVATE)

    def _listed(self) -> Markup:
        models = [info for info in self._bench.registry.list() if info.origin == "saved"]
        if not models:
            return html.empty("No saved models yet. A verdict offers to save the model that was trained.")
        return Markup('<ul class="cards">{}</ul>').format(Markup().join(map(_card, models)))

    def _on_picked(self, in_use: str, event: gr.EventData) -> Updates:
        match sent(event):
            case {"use": str(name)}:
                return self._picker.use(name)
            case {"delete": str(name)}:
                self._bench.registry.delete(name)
                shown: dict[Any, Any] = self._picker.use(finding.DEFAULT_ENCODER) if name == in_use else self._picker.listed()
                return {self._list: self._listed(), **shown}
        raise UserError("Choose a model from the list.")


def _card(info: listing.ModelInfo) -> Markup:
    kind = {"damaged": "damaged, can only be deleted", "cross-encoder": scorer_label(info.kind, info.trained_for)}.get(info.kind)
    facts = " · ".join(filter(None, (kind or info.kind, f"{info.dim} dimensions" if info.dim else "")))
    usable = info.kind == "encoder" and info.available
    return CARD.format(name=info.name, facts=facts, disabled="" if usable else Markup(" disabled"))
