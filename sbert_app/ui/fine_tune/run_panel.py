"""Panel for a training run: live progress, verdict, model, and the table of all runs of the same owner."""

from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import BETTER
from sbert_app.jobs.fine_tune import preparing, running
from sbert_app.runs.records import INTERRUPTED, DevScore, RunState
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.fine_tune import chart, verdict_view, view
from sbert_app.ui.fine_tune.runs_panel import RunsPanel, SavedModels
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, Updates, handler

TICK_SECONDS = 1.0
ZIPS_KEPT = 4
CORPUS_STAYS = "An open corpus keeps the model it was indexed with until you index it again."
SECOND_OPINION = "Choose {} as the cross-encoder in Similarity, Duplicates, Timing or Evaluation."
GONE = "This run is no longer here. It was deleted, or a command trained it and moved its model to the folder of its --out."
ONE_DAY = "Download the model to keep it: a hosted app deletes runs after a day."


class RunPanel:
    """Steps 3 and 4. `run_id`: the run shown; training runs in its own thread, independent of the page."""

    def __init__(self, bench: Workbench, session: gr.State, owner: Any, picker: ModelPicker) -> None:
        self._bench, self._session, self._owner, self._picker = bench, session, owner, picker
        self._zips = files.Shelf(ZIPS_KEPT)
        self.run_id = gr.State("")
        self._shown = gr.State("")  # the state of the run as shown
        self._timer = gr.Timer(TICK_SECONDS, active=False)
        self._draw_live()
        self._draw_verdict(bench.settings.hosted)
        self.runs = RunsPanel(bench, owner)
        SavedModels(bench, picker)
        live = [self.live, self.title, self.other_data, self.plan, self.progress, self.stop, self.resume]
        curve = [self.fold, self.curve, self.curve_links]
        verdict = [self.verdict, self.other_verdict, self.answer, self.spread, self.spread_links, self.movers]
        model = [self.keep, self.name, self.use, self.download, self.model_message]
        # What `attach` updates.
        self.outputs = [self.run_id, self._shown, self._timer, *live, *curve, *verdict, *model, self.runs.table]
        self._listen()

    def _draw_live(self) -> None:
        with gr.Column(visible=False, elem_id="step-live") as self.live:
            gr.HTML(view.STEP.format(3, "Training"), js_on_load=None)
            self.title = gr.HTML(elem_id="run-title", js_on_load=None)
            self.other_data = gr.HTML(elem_id="run-other-data", js_on_load=None)
            self.plan = gr.HTML(js_on_load=None)
            self.progress = gr.HTML(elem_id="run-progress", js_on_load=None)
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="run-stop")
            self.resume = gr.Button("Resume", size="sm", visible=False, elem_id="resume-here")
            with gr.Accordion("Training curve", visible=False, elem_id="curve-fold") as self.fold:  # closed once there is a verdict
                self.curve = gr.Plot(show_label=False, elem_id=verdict_view.CURVE)
                self.curve_links = gr.HTML(elem_id="curve-take-home", js_on_load=None)

    def _draw_verdict(self, hosted: bool) -> None:
        with gr.Column(visible=False, elem_id="step-verdict") as self.verdict:
            gr.HTML(view.STEP.format(4, "Verdict"), js_on_load=None)
            self.other_verdict = gr.HTML(elem_id="verdict-other-data", js_on_load=None)
            self.answer = gr.HTML(elem_id=verdict_view.VERDICT, js_on_load=None)
            with gr.Row(elem_classes="end-row", elem_id="keep"):
                self.keep = gr.Button("Keep the previous model", variant="primary", visible=False, elem_id="keep-previous")
                self.name = gr.Textbox(label="Save as model", max_lines=1, visible=not hosted, elem_id="model-name")
                self.use = gr.Button("Use this model", elem_id="use-model")
                self.pack = gr.Button("Download model", elem_id="pack-model")
                self.download = gr.DownloadButton("Download model", visible=False, elem_id="download-model")
            self.model_message = gr.HTML(elem_id="kept", js_on_load=None)
            self.spread = gr.Plot(show_label=False, elem_id=verdict_view.SPREAD)
            self.spread_links = gr.HTML(elem_id="spread-take-home", js_on_load=None)
            self.movers = gr.HTML(elem_id="movers", js_on_load=None)

    def _listen(self) -> None:
        run = [self.run_id, self._owner]
        # A chart that was drawn while its fold was closed has no width.
        self.fold.expand(None, None, None, js="() => dispatchEvent(new Event('resize'))", **PRIVATE)
        self._timer.tick(handler(self._on_tick), [*run, self._shown, self.runs.chosen], self.outputs, **PRIVATE)
        self.stop.click(handler(self._on_stop), run, self.stop, queue=False, **PRIVATE)
        self.use.click(handler(self._on_use), [*run, self.name], [*self._picker.outputs, self.model_message], **PRIVATE)
        self.keep.click(handler(self._on_keep), run, [*self._picker.outputs, self.model_message], **PRIVATE)
        self.pack.click(handler(self._on_pack), run, self.download, **PRIVATE)
        self.runs.listen({"fn": handler(self._on_changed), "inputs": run, "outputs": self.outputs} | PRIVATE)
        self.resume.click(handler(self._on_resume), run, self.outputs, **PRIVATE)
        for button, work in ((self.runs.open, self.attach), (self.runs.resume, self._on_resume)):
            self.compare_after(button.click(handler(work), [self.runs.chosen, self._owner], self.outputs, **PRIVATE))

    def compare_after(self, event: Any) -> None:
        """After an event that loads data or opens a run: show whether the run was trained on the data of step 1."""
        inputs, lines = [self.run_id, self._owner, self._session], [self.other_data, self.other_verdict]
        event.success(handler(self._compare), inputs, lines, **PRIVATE)

    def attach(self, run_id: str, owner: str) -> Updates:
        """Show a run, and follow it while it is live."""
        run = running.state(self._bench, run_id or "", owner)
        return {
            self.run_id: run_id,
            self.live: gr.Column(visible=True),
            self.plan: view.plan_line(run.plan),
            self.download: gr.DownloadButton(visible=False),
            **dict.fromkeys((self.other_data, self.other_verdict, self.model_message), ""),
            **self._show(run, owner, run_id, first=True),
        }

    def attach_live(self, owner: str) -> Updates:
        """Show the owner's active run, for instance after a reload or on another device, or the last if it was interrupted."""
        last = [info for info in running.rows(self._bench, owner)[:1] if info.state == INTERRUPTED]
        shown = running.active_run(self._bench, owner) or next(iter(last), None)
        return self.attach(shown.id, owner) if shown else {self.run_id: gr.skip()}

    def _compare(self, run_id: str, owner: str, session: Session) -> list[Any]:
        data = session.get(preparing.TrainingData)
        try:
            return [view.other_data(running.row(self._bench, run_id or "", owner), data) if data else ""] * 2
        except UserError:  # no run is shown
            return ["", ""]

    def _on_tick(self, run_id: str, owner: str, shown: str, chosen: str) -> Updates:
        try:
            run = running.state(self._bench, run_id, owner)
        except UserError:
            buttons = dict.fromkeys((self.stop, self.resume), gr.Button(visible=False))
            ended = {self._timer: gr.Timer(active=False), self.progress: html.cautions([GONE])}
            return {**buttons, **ended, self.runs.table: self.runs.listed(owner, chosen)}
        return {self._shown: shown} if _state(run) == shown else self._show(run, owner, chosen)

    def _show(self, run: RunState, owner: str, chosen: str, first: bool = False) -> Updates:
        live, result = run.info.live, run.result
        curve = chart.training_curve(run)
        fold: dict[str, Any] = {"open": result is None} if first or not live else {}
        updates: Updates = {
            self._shown: _state(run),
            self._timer: gr.Timer(active=live),
            self.title: view.run_title(run.info),
            self.progress: view.live(run),
            self.stop: _stop_button(run),
            self.resume: gr.Button(visible=not running.why_no_resume(run.info)),
            self.fold: gr.Accordion(visible=curve is not None, **fold),
            self.curve: curve,
            self.curve_links: verdict_view.curve_links(run) if curve else "",
            self.verdict: gr.Column(visible=result is not None and not live),
        }
        if live:
            return updates
        updates[self.runs.table] = self.runs.listed(owner, chosen)
        if result is None:
            return updates
        held_out, better = running.find(self._bench, run.info.id, owner).split().held_out, result.verdict.word == BETTER
        cross, hosted = bool(run.plan.encoder), self._bench.settings.hosted
        title = f"{'Use this model' if hosted else 'Save' if cross else 'Save and use'}{'' if better else ' anyway'}"
        return updates | {
            self.answer: verdict_view.verdict(run),
            self.spread: chart.distributions(held_out, result.before, result.after, "score" if cross else "cosine"),
            self.spread_links: verdict_view.spread_links(run),
            self.movers: verdict_view.movers(held_out, result.before, result.after),
            # Recommended is what the verdict says: the model, or the one before it.
            self.keep: gr.Button(f"Keep {html.short(run.plan.base, view.NAME_LENGTH)}", visible=not (better or cross)),
            self.use: gr.Button(title, variant="primary" if better else "secondary"),
            self.name: running.free_name(self._bench, run.info.name),
        }

    def _on_stop(self, run_id: str, owner: str) -> Any:
        running.stop(self._bench, run_id, owner)
        return _stop_button(running.state(self._bench, run_id, owner))

    def _on_use(self, run_id: str, owner: str, name: str) -> Updates:
        run, hosted = running.state(self._bench, run_id, owner), self._bench.settings.hosted
        chosen = run.info.model if hosted else running.save_model(self._bench, run_id, name, owner)
        kept = f" {ONE_DAY}" if hosted else ""
        if run.plan.encoder:
            return {self.model_message: view.MESSAGE.format(SECOND_OPINION.format(chosen) + kept)}
        where = "Chosen in the header, only for you." if hosted else f"Saved as {chosen} and chosen in the header."
        return {**self._picker.use(chosen), self.model_message: view.MESSAGE.format(f"{where} {CORPUS_STAYS}{kept}")}

    def _on_keep(self, run_id: str, owner: str) -> Updates:
        base = running.state(self._bench, run_id, owner).plan.base
        return {**self._picker.use(base), self.model_message: view.MESSAGE.format(f"{base} is chosen in the header.")}

    def _on_pack(self, run_id: str, owner: str) -> Any:
        path = running.zip_model(self._bench, run_id, self._zips.folder(), owner)
        return gr.DownloadButton(f"Download {path.name} ({path.stat().st_size / 1e6:.0f} MB)", value=str(path), visible=True)

    def _on_resume(self, run_id: str | None, owner: str) -> Updates:
        running.resume(self._bench, run_id or "", owner)
        return self.attach(run_id or "", owner)

    def _on_changed(self, run_id: str, owner: str) -> Updates:
        """After a run was deleted or renamed: show the run's new name, or hide steps 3 and 4 if it is gone."""
        try:
            run = running.state(self._bench, run_id, owner)
        except UserError:
            hidden = {self.live: gr.Column(visible=False), self.verdict: gr.Column(visible=False)}
            return {self.run_id: "", self._timer: gr.Timer(active=False), **hidden}
        return {self.title: view.run_title(run.info), self.answer: verdict_view.verdict(run)}


def _state(run: RunState) -> str:
    """A text that changes whenever there is something new to show."""
    return f"{run.info.state} {len(run.events)} {run.result is not None} {run.stopping}"


def _stop_button(run: RunState) -> gr.Button:
    """What stopping keeps; or that the run stops already."""
    title = "Stop and keep the best checkpoint" if run.of(DevScore) else "Stop without a model"
    return gr.Button("Stopping …" if run.stopping else title, visible=run.info.live, interactive=not run.stopping)
