"""Panel with the table of all runs of the owner, and what can be done with the chosen one."""

from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.runs.run import DAMAGED, FAILED, INTERRUPTED, RunInfo
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.ui.fine_tune import runs_view
from sbert_app.ui.kit.events import PRIVATE, Updates, handler, sent

PICK_SCRIPT = """
element.addEventListener('change', event => {
  const radio = event.target.closest('input[name="fine-tune-run"]');
  if (radio) trigger('picked', {run: radio.value});
});
// Gradio changes the rows that are there: a radio button that was chosen would stay so on the row that comes into its place.
const asListed = () => element.querySelectorAll('input').forEach(radio => { radio.checked = radio.defaultChecked; });
watch('value', () => setTimeout(asListed));
"""
# The buttons that had the focus are gone after a question or an answer: the keyboard goes on here.
FOCUS_KEEP = "() => setTimeout(() => document.getElementById('run-delete-no')?.focus(), 150)"
FOCUS_TABLE = "() => setTimeout(() => document.querySelector('#run-table input:checked, #run-table input')?.focus(), 150)"


class RunsPanel:
    """Components and their events. `chosen`: the id of the run that the buttons act on, "" for none."""

    def __init__(self, service: FineTuneService, owner: Any) -> None:
        self._service, self._owner = service, owner
        self.chosen = gr.State("")
        with gr.Accordion("All runs", open=False, elem_id="runs") as self.fold:
            self.table = gr.HTML(elem_id="run-table", js_on_load=PICK_SCRIPT)
            self.message = gr.HTML(elem_id="run-message", js_on_load=None)
            with gr.Row(elem_id="run-actions", elem_classes="end-row"):
                self.open = gr.Button("Open", size="sm", interactive=False, scale=0, min_width=96, elem_id="run-open")
                self.resume = gr.Button("Resume", size="sm", interactive=False, scale=0, min_width=96, elem_id="run-resume")
                self.delete = gr.Button(
                    "Delete …", size="sm", variant="stop", interactive=False, scale=0, min_width=96, elem_id="run-delete"
                )
            with gr.Row(elem_classes="end-row", elem_id="run-names"):
                self.new_name = gr.Textbox(label="New name", max_lines=1, interactive=False, elem_id="run-new-name")
                self.rename = gr.Button("Rename", size="sm", interactive=False, scale=0, min_width=96, elem_id="run-rename")
            with gr.Column(visible=False, elem_id="run-question") as self.question_box:
                self.question = gr.HTML(js_on_load=None)
                with gr.Row(elem_classes="end-row"):
                    self.keep = gr.Button("Keep it", size="sm", scale=0, min_width=110, elem_id="run-delete-no")
                    self.confirm = gr.Button(
                        "Delete it", size="sm", variant="stop", scale=0, min_width=110, elem_id="run-delete-yes"
                    )

    @property
    def outputs(self) -> list[Any]:
        """The components that this panel's own events update."""
        buttons = [self.open, self.resume, self.delete, self.new_name, self.rename]
        return [self.chosen, self.table, self.message, *buttons, self.question_box, self.question]

    def listen(self, changed: dict[str, Any]) -> None:
        """Connect events, except for open and resume. changed: what to do after a run was renamed or deleted."""
        run = [self.chosen, self._owner]
        self.fold.expand(handler(self.relisted), self._owner, self.outputs, **PRIVATE)
        self.table.picked(handler(self._on_picked), self._owner, self.outputs, trigger_mode="always_last", **PRIVATE)
        question = self.delete.click(handler(self._on_delete), run, self.outputs, **PRIVATE)
        question.success(None, None, None, js=FOCUS_KEEP)
        kept = self.keep.click(handler(self._unasked), None, self.outputs, **PRIVATE)
        kept.success(None, None, None, js=FOCUS_TABLE)
        deleted = self.confirm.click(handler(self._on_confirm), run, self.outputs, **PRIVATE)
        deleted.success(**changed).success(None, None, None, js=FOCUS_TABLE)
        names = [self.rename.click, self.new_name.submit]
        gr.on(names, handler(self._on_rename), [*run, self.new_name], self.outputs, **PRIVATE).success(**changed)

    def relisted(self, owner: str) -> Updates:
        """The runs as they are now, none of them chosen."""
        nothing = {self.chosen: "", self.message: "", **self._unasked(), **self._enabled(None)}
        return {**nothing, self.table: self.listed(owner)}

    def listed(self, owner: str, chosen: str = "") -> Markup:
        """The table, with a chosen run."""
        return runs_view.table(self._service.overview(owner), chosen)

    def _on_picked(self, owner: str, event: gr.EventData) -> Updates:
        run_id = sent(event).get("run")
        info = self._info(run_id, owner)
        return {self.chosen: info.id, self.message: runs_view.chosen(info), **self._unasked(), **self._enabled(info)}

    def _on_delete(self, run_id: str, owner: str) -> Updates:
        question = runs_view.question(self._info(run_id, owner))
        return {self.question_box: gr.Column(visible=True), self.question: question}

    def _on_confirm(self, run_id: str, owner: str) -> Updates:
        name = self._info(run_id, owner).name
        self._service.delete(run_id, owner)
        return self.relisted(owner) | {self.message: runs_view.deleted(name)}

    def _on_rename(self, run_id: str, owner: str, name: str) -> Updates:
        self._service.rename(run_id or "", name, owner)
        info = self._info(run_id, owner)
        renamed = {**self._enabled(info), self.new_name: ""}
        return {self.table: self.listed(owner, run_id), self.message: runs_view.chosen(info), **renamed}

    def _info(self, run_id: Any, owner: str) -> RunInfo:
        return self._service.info(run_id or "", owner)

    def _unasked(self) -> Updates:
        """Hide the question."""
        return {self.question_box: gr.Column(visible=False), self.question: ""}

    def _enabled(self, info: RunInfo | None) -> Updates:
        """Enable what can be done with a run."""
        readable = info is not None and info.state != DAMAGED
        resumable = info is not None and info.state in (INTERRUPTED, FAILED)
        return {
            self.open: gr.Button(interactive=readable),
            self.resume: gr.Button(interactive=resumable),
            self.delete: gr.Button(interactive=info is not None),
            self.new_name: gr.Textbox(interactive=readable),
            self.rename: gr.Button(interactive=readable),
        }
