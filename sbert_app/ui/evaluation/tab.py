"""The Evaluation tab: systems × data sets, a grid that fills while one looks, and the errors of each figure."""

from collections.abc import Iterator
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.errors import UserError
from sbert_app.grid import data_set, systems
from sbert_app.grid.result import Grid
from sbert_app.jobs import validation
from sbert_app.jobs.evaluate.grid import ShownGrid, choose, fill_session, halt, names_of_sets, unfinished, upload
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.ui.evaluation import below_view, grid_view
from sbert_app.ui.header import scorer_choices
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler, sent

LEAD = "How good is a model, and is a difference real? Measure **systems** side by side, on **data with known answers**."
GROUPS = {  # of systems, and what they cost or are for
    "This model": ((systems.SBERT, *systems.POOLED), "Reads each sentence once; other poolings as in Table 6 of the paper."),
    "Compared with": (
        tuple(name for name in systems.SYSTEMS if name not in (systems.SBERT, *systems.POOLED, *systems.RANKERS)),
        "A cross-encoder reads every pair: the slowest. tf-idf, word overlap and the regressor need no model.",
    ),
    "Ways to search": (systems.RANKERS, "For questions with judged answers."),
}
AT_FIRST = [systems.SBERT, systems.CROSS, systems.WORD_VECTORS, systems.TF_IDF, systems.OVERLAP]
WAYS_TO_RANK = [systems.SBERT, systems.BM25, systems.HYBRID, systems.MAXSIM]  # chosen when queries with judged documents are added
SETS_AT_FIRST = 2  # of the data sets that come with the app
FILE_HELP = (
    "Pairs with a score or label, triplets, sentences with a label, questions with judged answers, or queries with judged rows of "
    "the open corpus: csv, tsv, jsonl or parquet, also as .gz. Columns as sentence1, sentence2, score; anchor, positive, negative; "
    "text, label; question, answer, label; or query, row, relevance."
)
FORMATS = Markup('<div class="hint">Formats {}</div>').format(html.info(FILE_HELP, "Formats of a data set"))
HARD_SETS = "The hard sets ask for another notion of likeness: they are made for Fine-tune."
MODELS = "other models"
# "picked" is a custom event: the cell whose errors are asked for.
PICKED = """element.addEventListener('click', event => {
  const button = event.target.closest('button[data-system]');
  if (button) trigger('picked', {system: button.dataset.system, number: Number(button.dataset.number)});
});"""


class EvaluationTab:
    def __init__(self, bench: Workbench, session: gr.State, model: gr.State) -> None:
        self._bench, self._session, self._model = bench, session, model
        gr.Markdown(LEAD, elem_classes="lead")
        with gr.Row(elem_classes="examples"):
            self.start = gr.Button("Measure", variant="primary", elem_id="eval-start")
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="eval-stop")
        with gr.Accordion("Systems and data sets", elem_id="eval-choices") as self.choices:
            self._draw_choices(custom=not bench.settings.hosted)
        self.stage = gr.HTML(elem_id="eval-stage", js_on_load=None)
        self.table = gr.HTML(html.empty(grid_view.NOTHING), elem_id=below_view.TABLE, js_on_load=PICKED)
        with gr.Column(visible=False, elem_id="eval-result") as self.result:
            gr.HTML(html.hint(grid_view.HOW_TO_READ), elem_id=below_view.HOW, elem_classes="how-to-read", js_on_load=None)
            self.words = gr.HTML(elem_id=below_view.WORDS, js_on_load=None)
            self.errors = gr.HTML(elem_id="eval-errors", js_on_load=None)
            self.links = gr.HTML(elem_id="eval-links", js_on_load=None)
            self.chart = gr.Plot(label="Quality by speed", show_label=False, elem_id=below_view.CHART)
        self.job = LongJob(self.stop, self.stage, self.start)

    def _draw_choices(self, custom: bool) -> None:
        with gr.Row():
            with gr.Column(min_width=300), gr.Column(elem_id="eval-systems"):
                self.systems: dict[Any, tuple[str, ...]] = {}
                for label, (group, info) in GROUPS.items():
                    choices = [(grid_view.name_of(name), name) for name in group]
                    chosen = [name for name in group if name in AT_FIRST]
                    self.systems[gr.CheckboxGroup(choices, value=chosen, label=label, info=info)] = group
            with gr.Column(min_width=300):
                own = names_of_sets(Session())
                self.sets = gr.CheckboxGroup(own, value=own[:SETS_AT_FIRST], label="Data sets", info=HARD_SETS, elem_id="eval-sets")
                self.file = gr.File(label="Add a data set", height=170, elem_id="eval-file", elem_classes="drop-zone")
                gr.HTML(FORMATS, js_on_load=None)
                self.models = gr.Dropdown(
                    list(self._bench.settings.allowed_models), value=[], multiselect=True, allow_custom_value=custom,
                    label="Other models", elem_id="eval-models",
                    info="Saved, fine-tuned, or a Hub name: each becomes a row." if custom else "Each becomes a row.",
                )  # fmt: skip

    def listen(self, tab: gr.Tab) -> None:
        session, names = [self._session], [self.models, next(iter(self.systems))]
        results = [self.choices, self.table, self.result, self.words, self.errors, self.links, self.chart]
        arrived = self._session.change(handler(self._on_arrival), session, [self.sets, *results], **PRIVATE)
        tab.select(handler(self._on_tab_opened), session, self.chart, **PRIVATE)
        gr.on([tab.select, self._model.change], handler(self._on_model), [self._model, self.models], names, **PRIVATE)
        added = [*self.systems, self.sets, self.file, self.stage]
        uploaded = self.file.upload(handler(self._on_file), [*session, self.file, self.sets], added, **PRIVATE)
        uploaded.failure(lambda: None, None, self.file, **PRIVATE)  # else a file that was refused stays there
        inputs = [*session, self._model, self.sets, self.models, *self.systems]
        self.job.listen(self.start.click, self._on_start, inputs, results, halt)
        self.job.listen(arrived.then, self._on_resume, session, results, None)
        self.table.picked(handler(self._on_picked), session, self.errors, **PRIVATE)

    def _on_arrival(self, session: Session) -> Updates:
        """Show what the session holds: the visitor's data sets, and the grid as far as it was filled, with the choices folded."""
        current, sets = session.get(ShownGrid), gr.CheckboxGroup(names_of_sets(session))
        grid = self._shown(current) if current else {self.table: html.empty(grid_view.NOTHING)}
        return {self.sets: sets, self.choices: gr.Accordion(open=current is None), **grid}

    def _on_tab_opened(self, session: Session) -> Any:
        """Draw the chart, which needs the tab's width."""
        current = session.get(ShownGrid)
        return below_view.chart(current.grid, current.choice) if current and current.grid.means() else gr.skip()

    def _on_model(self, model: str, chosen: list[str]) -> Updates:
        """List the models that have no row yet, also those saved meanwhile: the header's and the cross-encoder have one."""
        known = (info for info in self._bench.registry.list() if info.available and info.origin != "untrained")
        trained = [info for info in known if info.kind == "encoder" or info.scores_pairs]
        others = [info for info in trained if info.name not in (model, DEFAULT_CROSS_ENCODER)]
        still = [name for name in validation.names(chosen or [], MODELS) if name != model]
        listed = gr.Dropdown(choices=scorer_choices(others), value=still)
        return {self.models: listed, next(iter(self.systems)): gr.CheckboxGroup(label=f"This model: {model}")}

    def _on_file(self, session: Session, file: str | None, chosen: list[str]) -> Updates:
        with files.uploaded(file, "Choose a file first.") as path:
            data = upload(self._bench, session, path, path.name)
        updates: Updates = {self.file: None, self.stage: html.notes(data.remarks)}
        if data.task == data_set.RETRIEVAL:  # the ways to rank have no figures on pairs
            chosen = []
            updates |= {group: [name for name in names if name in WAYS_TO_RANK] for group, names in self.systems.items()}
        values = list(dict.fromkeys([*(chosen or []), data.name]))
        return updates | {self.sets: gr.CheckboxGroup(names_of_sets(session), value=values)}

    def _on_start(self, session: Session, model: str, sets: list[str], models: list[str], *groups: list[str]) -> Iterator[Updates]:
        others = validation.names(models or [], MODELS)
        chosen = [systems.SBERT if name == model else name for group in (*groups, others) for name in group or []]
        yield from self._fill(session, choose(self._bench, session, chosen, sets or []), systems.Choice(model))

    def _on_resume(self, session: Session) -> Iterator[Updates]:
        """Continue a grid that a reload interrupted."""
        if current := unfinished(session):
            yield from self._fill(session, current.grid, current.choice)
        else:
            yield {self.stage: ""}

    def _fill(self, session: Session, grid: Grid, choice: systems.Choice) -> Iterator[Updates]:
        emptied = {self.table: grid_view.grid(grid, choice), self.result: gr.Column(visible=False), self.errors: ""}
        yield {**self.job.busy(html.status("Starting")), self.choices: gr.Accordion(open=False), **emptied}
        for step in fill_session(self._bench, session, grid, choice):
            grid = step.result or grid
            place = grid.empty[0] if step.total else None
            yield {self.stage: grid_view.stage(grid, choice, place, step.stage), self.table: grid_view.grid(grid, choice, place)}
        stage = Markup() if grid.complete else html.status("Stopped. The figures so far stay.")
        yield {**self.job.idle(stage), **self._shown(ShownGrid(grid, choice))}

    def _shown(self, current: ShownGrid) -> Updates:
        grid, choice = current.grid, current.choice
        chart = below_view.chart(grid, choice) if grid.means() else None
        below = {self.words: grid_view.in_words(grid, choice), self.links: below_view.links(grid, choice), self.chart: chart}
        return {self.table: grid_view.grid(grid, choice), self.result: gr.Column(visible=True), **below}

    def _on_picked(self, session: Session, event: gr.EventData) -> Any:
        current = session.get(ShownGrid)
        match sent(event):
            case {"system": str(system), "number": int(number)} if current and (system, number) in current.grid.measured:
                return below_view.errors(current.grid, current.choice, (system, number))
        raise UserError("This figure is not there any more. Measure again.")
