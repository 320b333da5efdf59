"""Panel for a training run: live progress, verdict, model, and earlier runs of the same owner."""

import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.services.fine_tune import FineTuneService, RunProgress
from sbert_app.services.trained_models import TrainedModels
from sbert_app.ui.fine_tune import chart, verdict_view, view
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.kit.events import PRIVATE, Updates, handler

TICK_SECONDS = 1.0
ZIPS_KEPT = 4


class RunPanel:
    """Steps 3 and 4. `run_id`: the run shown; training runs in its own thread, independent of the page."""

    def __init__(self, service: FineTuneService, models: TrainedModels, owner: Any, picker: ModelPicker) -> None:
        self._service, self._models, self._owner, self._picker = service, models, owner, picker
        # Zips are kept until Gradio has copied them.
        self._zips: deque[tempfile.TemporaryDirectory[str]] = deque(maxlen=ZIPS_KEPT)
        self.run_id = gr.State("")
        self._shown = gr.State("")  # the state of the run as shown
        self._timer = gr.Timer(TICK_SECONDS, active=False)
        self._draw_live()
        self._draw_verdict()
        self._draw_runs()
        self._listen()
        self._listen_to_runs()

    def _draw_runs(self) -> None:
        with gr.Accordion("Earlier runs", open=False, elem_id="runs") as self.runs:
            self.choice = gr.Dropdown([], label="Run", allow_custom_value=True, elem_id="run-choice")
            with gr.Row():
                self.open = gr.Button("Open", size="sm", elem_id="run-open")
                self.resume = gr.Button("Resume", size="sm", elem_id="run-resume")
                self.delete = gr.Button("Delete", size="sm", variant="stop", elem_id="run-delete")
            with gr.Row(elem_classes="end-row"):
                self.new_name = gr.Textbox(label="New name", max_lines=1, elem_id="run-new-name")
                self.rename = gr.Button("Rename", size="sm", scale=0, min_width=120, elem_id="run-rename")

    def _draw_live(self) -> None:
        with gr.Column(visible=False, elem_id="step-live") as self.live:
            gr.HTML(view.step(3, "Training"), js_on_load=None)
            self.plan = gr.HTML(js_on_load=None)
            self.progress = gr.HTML(elem_id="run-progress", js_on_load=None)
            self.stop = gr.Button("Stop and keep the best checkpoint", size="sm", variant="stop", visible=False, elem_id="run-stop")
            self.curve = gr.Plot(show_label=False, elem_id="run-curve")

    def _draw_verdict(self) -> None:
        with gr.Column(visible=False, elem_id="step-verdict") as self.verdict:
            gr.HTML(view.step(4, "Verdict"), js_on_load=None)
            self.answer = gr.HTML(elem_id="verdict", js_on_load=None)
            self.spread = gr.Plot(show_label=False, elem_id="distributions")
            self.movers = gr.HTML(elem_id="movers", js_on_load=None)
            with gr.Row(elem_classes="end-row", elem_id="keep"):
                named = not self._service.hosted
                self.name = gr.Textbox(label="Save as model", max_lines=1, visible=named, elem_id="model-name")
                title = "Save and use in all tabs" if named else "Use in all tabs"
                self.use = gr.Button(title, variant="primary", elem_id="use-model")
                self.pack = gr.Button("Download model", elem_id="pack-model")
                self.download = gr.DownloadButton("Download model", visible=False, elem_id="download-model")
            self.model_message = gr.HTML(elem_id="kept", js_on_load=None)

    def _listen(self) -> None:
        run = [self.run_id, self._owner]
        self._timer.tick(handler(self._on_tick), [*run, self._shown], self.outputs, **PRIVATE)
        self.stop.click(handler(self._on_stop), run, self.stop, queue=False, **PRIVATE)
        self.use.click(handler(self._on_use), [*run, self.name], [*self._picker.outputs, self.model_message], **PRIVATE)
        self.pack.click(handler(self._on_pack), run, self.download, **PRIVATE)

    def _listen_to_runs(self) -> None:
        chosen = [self.choice, self._owner]
        self.runs.expand(handler(self._list), self._owner, self.choice, **PRIVATE)
        self.open.click(handler(self.attach), chosen, self.outputs, **PRIVATE)
        self.resume.click(handler(self._on_resume), chosen, self.outputs, **PRIVATE)
        self.delete.click(handler(self._on_delete), chosen, self.choice, **PRIVATE)
        self.rename.click(handler(self._on_rename), [*chosen, self.new_name], [self.choice, self.new_name], **PRIVATE)

    @property
    def outputs(self) -> list[Any]:
        """The components that `attach` updates."""
        verdict = [self.verdict, self.answer, self.spread, self.movers, self.name, self.download, self.model_message]
        return [self.run_id, self._shown, self._timer, self.live, self.plan, self.progress, self.stop, self.curve, *verdict]

    def attach(self, run_id: str, owner: str) -> Updates:
        """Show a run, and follow it while it is live."""
        progress = self._service.progress(run_id or "", owner)
        return {
            self.run_id: run_id,
            self.live: gr.Column(visible=True),
            self.plan: view.plan_line(progress.plan),
            self.download: gr.DownloadButton(visible=False),
            self.model_message: "",
            **self._show(progress, owner),
        }

    def attach_live(self, owner: str) -> Updates:
        """Show the owner's active run, if any, for instance after a reload or on another device."""
        active = self._service.active_run(owner)
        return self.attach(active.id, owner) if active else {self.run_id: ""}

    def _on_tick(self, run_id: str, owner: str, shown: str) -> Updates:
        progress = self._service.progress(run_id, owner)
        return {self._shown: shown} if _state(progress) == shown else self._show(progress, owner)

    def _show(self, progress: RunProgress, owner: str) -> Updates:
        finished = progress.result is not None and not progress.live
        updates: Updates = {
            self._shown: _state(progress),
            self._timer: gr.Timer(active=progress.live),
            self.progress: view.live(progress),
            self.stop: gr.Button(visible=progress.live, interactive=True),
            self.curve: chart.training_curve(progress.events),
            self.verdict: gr.Column(visible=finished),
        }
        if not finished or progress.result is None:
            return updates
        held_out = self._service.held_out(progress.info.id, owner)
        return updates | {
            self.answer: verdict_view.verdict(progress),
            self.spread: chart.distributions(held_out, progress.result["before"], progress.result["after"]),
            self.movers: verdict_view.movers(progress, held_out),
            self.name: self._models.free_name(progress.info.name),
        }

    def _on_stop(self, run_id: str, owner: str) -> Any:
        self._service.stop(run_id, owner)
        return gr.Button("Stopping …", interactive=False)

    def _on_use(self, run_id: str, owner: str, name: str) -> Updates:
        if self._service.hosted:
            chosen = self._service.progress(run_id, owner).info.model
            text = "In use in all tabs, only for you. Download the model to keep it: a hosted app deletes runs after a day."
        else:
            chosen = self._models.save_model(run_id, name, owner)
            text = f"Saved as {chosen} and in use in all tabs."
        return {**self._picker.use(chosen), self.model_message: view.model_message(text)}

    def _on_pack(self, run_id: str, owner: str) -> Any:
        folder = tempfile.TemporaryDirectory(prefix="sbert-studio-")
        self._zips.append(folder)
        path = self._models.zip_model(run_id, Path(folder.name), owner)
        return gr.DownloadButton(f"Download {path.name} ({path.stat().st_size / 1e6:.0f} MB)", value=str(path), visible=True)

    def _list(self, owner: str) -> Any:
        choices = self._choices(owner)
        return gr.Dropdown(choices=choices, value=choices[0][1] if choices else None)

    def _choices(self, owner: str) -> list[tuple[str, str]]:
        return [(view.run_line(info), info.id) for info in self._service.list(owner)]

    def _on_resume(self, run_id: str | None, owner: str) -> Updates:
        self._service.resume(run_id or "", owner)
        return self.attach(run_id or "", owner)

    def _on_delete(self, run_id: str | None, owner: str) -> Any:
        self._service.delete(run_id or "", owner)
        return gr.Dropdown(choices=self._choices(owner), value=None)  # no selection, so that a second click deletes nothing

    def _on_rename(self, run_id: str | None, owner: str, name: str) -> Updates:
        self._service.rename(run_id or "", name, owner)
        return {self.choice: self._list(owner), self.new_name: ""}


def _state(progress: RunProgress) -> str:
    """A text that changes whenever there is something new to show."""
    return f"{progress.info.state} {len(progress.events)} {progress.result is not None}"
