"""The Fine-tune tab in four steps: data, settings, training, verdict."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from sbert_app.errors import UserError
from sbert_app.jobs.declaring.option import read
from sbert_app.jobs.fine_tune import job, preparing, running
from sbert_app.jobs.label import train_on
from sbert_app.models.files.listing import is_untrained
from sbert_app.runs.plan import Plan, preset_for
from sbert_app.runtime import Session, Workbench
from sbert_app.tables import Table, read_table
from sbert_app.training.options import PAIR_KINDS
from sbert_app.ui.fine_tune import view
from sbert_app.ui.fine_tune.run_panel import RunPanel
from sbert_app.ui.fine_tune.step_panels import DataPanel, PlanPanel, start_button
from sbert_app.ui.header import ModelPicker, scorer_choices
from sbert_app.ui.kit.events import PRIVATE, Updates, Values, handler
from sbert_app.ui.kit.files import uploaded


@dataclass(frozen=True)
class ShownRun:
    """The run that a session's page showed last."""

    id: str


class FineTuneTab:
    """Steps 1 and 2, without visitors' data. Steps 3 and 4 are `panel`, which can show an active run after the page is loaded."""

    def __init__(self, bench: Workbench, session: gr.State, owner: Any, picker: ModelPicker) -> None:
        self._bench, self._session, self._owner, self._model = bench, session, owner, picker.in_use
        gr.Markdown("Train a model on **your labelled pairs**, and see whether it got better.", elem_classes="lead")
        self.data = DataPanel(bench, session, picker)
        with gr.Column(visible=False, elem_id="step-settings") as self.settings:
            gr.HTML(view.STEP.format(2, "Settings"), js_on_load=None)
            self.plan = PlanPanel()
        self.panel = RunPanel(bench, session, owner, picker)

    def listen(self, opened: gr.State) -> None:
        """Connect events. opened: changes with the corpus, whose pairs are labelled."""
        data, plan, panel = self.data, self.plan, self.panel
        state = {self._session, self._model, self._owner, plan.preset, plan.base, plan.cross}
        self._everything = {*state, data.shown, *data.columns, *data.split, *plan.tuned}
        settings = [*plan.tuned, plan.advice, plan.base, plan.cross, plan.start]
        loaded = [*data.outputs, self.settings, plan.fold, *settings, data.refused, data.file]
        session = [self._session, plan.preset, self._model]
        self._session.change(handler(self._on_arrival), session, [*loaded, *data.labels.opened], **PRIVATE)
        again = [self._session, self._owner, panel.run_id]
        panel.compare_after(self._session.change(handler(self.attach_again), again, panel.outputs, **PRIVATE))
        panel.run_id.change(handler(self._on_run, early=True), [panel.run_id, self._owner, self._session], data.summary, **PRIVATE)
        upload = data.file.upload(handler(self._on_file), [*session, data.file], loaded, **PRIVATE)
        works = {b: partial(self._on_example, name) for name, b in data.examples.items()} | {data.labels.use: self._on_labels}
        examples = [button.click(handler(work), session, loaded, **PRIVATE) for button, work in works.items()]
        remapped = self._on_change(data.columns, self._on_columns, [*data.outputs, self.settings, *settings])
        split = self._on_change(data.split, self._on_split, data.outputs)
        parts = [self._on_part_change(part, file) for part, file in data.parts.items()]
        for changed in (remapped, split):
            changed.failure(handler(self._split_in_use), self._session, data.split, **PRIVATE)
        estimating = {"fn": handler(self._on_estimate), "inputs": self._everything, "outputs": plan.estimate} | PRIVATE
        estimating |= {"concurrency_id": "estimate", "concurrency_limit": 2}
        for changed in (upload, *examples, remapped, split, *parts):
            changed.success(**estimating)
            panel.compare_after(changed)
        for menu, work in ((plan.preset, self._on_preset), (plan.cross, self._on_trained)):
            menu.input(handler(work), self._everything, settings, **PRIVATE).success(**estimating)
        self._model.change(handler(self._on_model), self._everything, [*settings, plan.estimate], **PRIVATE)
        plan.objective.input(handler(plan.explain), plan.objective, settings, **PRIVATE)
        gr.on([c.input for c in plan.tuned], trigger_mode="always_last", **estimating)
        started = plan.start.click(handler(self._on_start), self._everything, [plan.fold, *panel.outputs], **PRIVATE)
        started.success(None, None, None, js="() => studio.show('step-live')")
        data.labels.listen(data.label, opened)

    def _on_change(self, components: list[Any], work: Callable[[Values], Updates], outputs: list[Any]) -> Any:
        triggers = [component.input for component in components]
        return gr.on(triggers, handler(work), self._everything, outputs, trigger_mode="always_last", **PRIVATE)

    def _on_part_change(self, part: str, file: gr.File) -> Any:
        """A test or dev file is uploaded or cleared."""
        work, outputs = partial(self._on_part, part, file), [*self.data.outputs, self.data.refused]
        return gr.on([file.upload, file.clear], handler(work), [self._session, file], outputs, trigger_mode="multiple", **PRIVATE)

    def _on_arrival(self, session: Session, preset: str, model: str) -> Updates:
        """Show the data that the session has, as after a reload, or the labels that are to become data."""
        data = session.get(preparing.TrainingData)
        return self._new(data, preset, model) if data else {self.data.refused: "", **self.data.labels.arrived(session)}

    def _on_run(self, run_id: str, owner: str, session: Session) -> Any:
        """Say what the run was made of that is shown, where the session has no data."""
        if run_id:
            session.put(ShownRun(run_id))
        if not run_id or session.get(preparing.TrainingData) is not None:
            return gr.skip()
        parts = running.find(self._bench, run_id, owner).split()
        return view.made_of(running.state(self._bench, run_id, owner), sum(map(len, (parts.train, parts.dev, parts.held_out))))

    def attach_again(self, session: Session, owner: str, run_id: str) -> Updates:
        """After a reload: show the run that the page showed before, where no other is shown."""
        shown = session.get(ShownRun)
        with suppress(UserError):  # the run was deleted, or the browser's secret has not come yet: then this is asked again
            if shown and not run_id:
                return self.panel.attach(shown.id, owner)
        return {self.panel.run_id: gr.skip()}

    def _on_file(self, session: Session, preset: str, model: str, file: str | None) -> Updates:
        load = partial(preparing.load, self._bench, session)
        return self._from_upload(self.data.file, file, lambda table: self._new(load(table), preset, model))

    def _on_example(self, name: str, session: Session, preset: str, model: str) -> Updates:
        table = preparing.example_table(f"{name}.csv", self._bench.settings.limits)
        return self._new(preparing.load(self._bench, session, table), preset, model)

    def _on_labels(self, session: Session, preset: str, model: str) -> Updates:
        return self._new(train_on(self._bench, session), preset, model)

    def _on_part(self, part: str, component: gr.File, session: Session, file: str | None) -> Updates:
        def use(table: Table | None) -> Updates:
            return self.data.show_split(preparing.set_part(self._bench, session, part, table))

        return self._from_upload(component, file, use) if file else {**use(None), self.data.refused: ""}

    def _from_upload(self, component: gr.File, file: str | None, use: Callable[[Table], Updates]) -> Updates:
        """What `use` makes of an uploaded file. One that is refused is named on the page, and the data stays as it was."""
        try:
            with uploaded(file, "Choose a file with labelled pairs.") as path:
                return {**use(read_table(path, self._bench.settings.limits)), self.data.refused: ""}
        except UserError as error:
            gr.Warning(str(error), title="File not loaded")
            return {self.data.refused: view.REFUSED.format(Path(file or "").name, str(error)), component: None}

    def _on_columns(self, values: Values) -> Updates:
        data = self.data.read(values)
        if data.mapping == values[self.data.shown]:  # Gradio's menu tells that it was left like a choice
            return {self.settings: gr.Column(visible=True)}
        updates = self._show(data, values[self.plan.preset], values[self._model], values[self.plan.cross])
        # Unchanged values are not sent back, because the user may have changed them meanwhile.
        for component in self.data.columns[1:]:
            if updates[component]["value"] == values[component]:
                del updates[component]["value"]
        del updates[self.data.kind]
        return updates

    def _on_split(self, values: Values) -> Updates:
        data = self.data.read(values)
        return {self.data.summary: view.training_data(data), self.data.notes: view.data_notes(data)}

    def _split_in_use(self, session: Session) -> list[str]:
        """After a refusal: show the split that the data has."""
        choice = preparing.current(session).choice
        return [choice.by, choice.column]

    def _new(self, data: preparing.TrainingData, preset: str, model: str) -> Updates:
        """Show other data than before. Uploads are emptied: the fold tells which file was read; parts of the last data are gone."""
        folds = {self.data.fold: gr.Accordion(view.data_line(data), open=False), self.plan.fold: gr.Accordion(open=True)}
        emptied = dict.fromkeys([self.data.file, *self.data.parts.values()])
        return {**self._show(data, preset, model), **folds, **emptied, self.data.refused: ""}

    def _show(self, data: preparing.TrainingData, preset: str, model: str, cross: str = "") -> Updates:
        """Show the data as read, and settings that fit it."""
        return {**self.data.show(data), self.settings: gr.Column(visible=True), **self._show_preset(data, preset, model, cross)}

    def _show_preset(self, data: preparing.TrainingData, name: str, model: str, cross: str) -> Updates:
        examples, scorers = data.split.train, scorer_choices(self._bench.registry.pair_scorers(["cross-encoder"]))
        base, encoder = (cross, model) if cross and examples.kind in PAIR_KINDS else (model, "")
        return self.plan.show(preset_for(examples, name, base, encoder), examples.kind, scorers)

    def _on_preset(self, values: Values) -> Updates:
        data = preparing.current(values[self._session])  # not as the page has it: an event that waited may bring an older split
        return self._show_preset(data, *(values[box] for box in (self.plan.preset, self._model, self.plan.cross)))

    def _on_trained(self, values: Values) -> Updates:
        """Show the preset's settings for what is trained now; what was set stays where the menu was only left."""
        trained = values[self.plan.cross] or values[self._model]
        return {self.plan.base: trained} if trained == values[self.plan.base] else self._on_preset(values)

    def _on_model(self, values: Values) -> Updates:
        """An untrained network needs other settings than a trained model: show the preset's. Else keep what is set."""
        base, model = values[self.plan.base], values[self._model]
        if not base or is_untrained(base) == is_untrained(model):
            trained = values[self.plan.cross] or model
            return {self.plan.base: base and trained, self.plan.start: start_button(trained)}
        return {**self._on_preset(values), self.plan.estimate: ""}

    def _on_estimate(self, values: Values) -> Iterator[str]:
        yield view.ESTIMATING
        try:
            data = preparing.current(values[self._session])
            expected = preparing.expected(self._bench, data, self._plan(values, data))
        except UserError:
            yield ""
            raise
        yield view.estimate(expected, str(self._bench.registry.hardware))

    def _on_start(self, values: Values) -> Updates:
        data, owner = self.data.read(values), values[self._owner]
        run = running.start(self._bench, data, self._plan(values, data), owner, alone=True)
        return {self.plan.fold: gr.Accordion(open=False), **self.panel.attach(run.id, owner)}

    def _plan(self, values: Values, data: preparing.TrainingData) -> Plan:
        chosen, adjust = ({name: values[box] for name, box in boxes.items()} for boxes in (self.plan.options, self.plan.adjusted))
        options = read(job.FineTuneOptions, chosen | {"model": values[self._model]}, self._bench.settings.limits)
        return job.plan_of(options, data, adjust)
