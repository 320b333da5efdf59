"""Panel for a file of pairs: upload it, see how well the scores agree with its labels, and get it back with a column of scores."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import gradio as gr
from markupsafe import Markup

from sbert_app.jobs.score_pairs import SCORING, PairTable, close_pairs, open_pairs, score_opened
from sbert_app.labelled import scored_pairs as wording
from sbert_app.labelled.pair_columns import PairColumns
from sbert_app.labelled.scored_pairs import ScoredPairs, ShownPair
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import ASSETS
from sbert_app.step import Step
from sbert_app.tables import csv_file, read_table, skipped_summary
from sbert_app.ui.kit import html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler
from sbert_app.ui.kit.files import Shelf, uploaded
from sbert_app.wording import amount, duration, rounded

LEAD = (
    "Upload a file with two columns of text. You get the same file back with a score for each row. "
    "If it has a column of labels, such as grades from 0 to 5, you also see how well the scores agree with them."
)
EXAMPLE = ASSETS / "labelled" / "instructions_labelled.csv"
NO_COLUMN = ("none", "")
SENTENCE_LENGTH = 300
OTHER_MODEL = "The model was changed, so the scores of the one before are gone."
RANKS = "Compared by rank: where the score puts the pair among all, against where its label puts it."


class FilePanel:
    def __init__(self, bench: Workbench, session: gr.State, model: gr.State) -> None:
        self._bench, self._shelf = bench, Shelf()
        gr.HTML(html.hint(LEAD), js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.example = gr.Button("Example: 420 instructions", size="sm", elem_id="pair-example")
        self.file = gr.File(label="Two text columns: csv, tsv, jsonl, json, parquet, xlsx", height=150, elem_id="pair-file-upload")
        with gr.Row(visible=False, elem_id="pair-columns", elem_classes="query-row") as self.columns:
            self.first = gr.Dropdown(label="First sentence", allow_custom_value=True, elem_id="pair-first")
            self.second = gr.Dropdown(label="Second sentence", allow_custom_value=True, elem_id="pair-second")
            self.labels = gr.Dropdown([NO_COLUMN], label="Column of labels", allow_custom_value=True, elem_id="pair-labels")
        self._chosen = [self.first, self.second, self.labels]
        self.score = gr.Button("Score", variant="primary", visible=False, elem_id="pair-score")
        self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="pair-stop")
        self.stage = gr.HTML(elem_id="pair-stage", js_on_load=None)
        self.download = gr.DownloadButton("Download", variant="primary", visible=False, elem_id="pair-download")
        self.result = gr.HTML(elem_id="pair-result", js_on_load=None)
        self.job = LongJob(self.stop, self.stage, self.score, self.example)
        outputs = [self.file, self.columns, *self._chosen, self.score, self.result, self.download]
        inputs = [session, self.file, model]
        by_file = self.job.listen(self.file.upload, self._on_file, inputs, outputs, lambda session: session.stop(SCORING))
        by_file.failure(lambda: {self.file: None, **self._hidden()}, None, outputs, **PRIVATE)  # another file can be uploaded
        started = [self.job.listen(self.example.click, self._on_example, [session, model], outputs, None)]
        for trigger in [self.score.click, *(column.input for column in self._chosen)]:
            started.append(self.job.listen(trigger, self._on_score, [session, model, *self._chosen], outputs, None))
        for event in started:
            event.failure(self._cleared, None, outputs, **PRIVATE)
        self.file.clear(handler(self._on_clear), session, [*outputs, self.stage], **PRIVATE)
        model.change(handler(self._on_model), [session, self.first, model], [*outputs, self.stage], **PRIVATE)

    def _on_file(self, session: Session, file: str | None, model: str) -> Iterator[Updates]:
        with uploaded(file, "Choose a file with two columns of text.") as path:
            table = read_table(path, self._bench.settings.limits)
        yield from self._scored(session, open_pairs(session, table), model)

    def _on_example(self, session: Session, model: str) -> Iterator[Updates]:
        columns = open_pairs(session, read_table(EXAMPLE, self._bench.settings.limits))
        for updates in self._scored(session, columns, model):
            yield updates | {self.file: None}

    def _on_score(self, session: Session, model: str, *columns: str | None) -> Iterator[Updates]:
        yield from self._scored(session, PairColumns(*(str(column or "") for column in columns)), model)

    def _on_model(self, session: Session, first: str | None, model: str) -> Updates:
        """Scores of another model than the header's are not kept below its name. Scoring again may take long: it has a button."""
        opened = session.get(PairTable)
        if not first or opened is None:  # none, or that of the page before it was loaded again
            return {self.stage: ""}
        if opened.model == model:  # the event was late
            return {self.stage: gr.skip()}
        session.stop(SCORING)
        again = {self.score: gr.Button(f"Score with {model}", visible=True), self.stage: html.status(OTHER_MODEL)}
        return self._no_result() | again

    def _scored(self, session: Session, columns: PairColumns, model: str) -> Iterator[Updates]:
        """Score the session's file by these columns, and offer all that it has, at each step: a busy page may lose one."""
        events, stopped = score_opened(self._bench, session, columns, model), html.status("Stopped. Nothing was scored.")
        for step, state in self.job.following(events, progress, stopped):
            pairs = session.get(PairTable)
            names = [*pairs.table.frame.columns] if pairs else []
            offered = zip(self._chosen, (names, names, [NO_COLUMN, *names]), (*columns.sentences, columns.labels), strict=True)
            ended = step.stopped or step.result is not None  # then the columns can be changed, and the file scored again
            chosen = {box: gr.Dropdown(choices=listed, value=value, interactive=ended) for box, listed, value in offered}
            yield state | self._step(step, model) | chosen | {self.columns: gr.Row(visible=pairs is not None)}

    def _step(self, step: Step[ScoredPairs], model: str) -> Updates:
        if step.stopped:
            return {**self._no_result(), self.score: gr.Button(f"Score with {model}", visible=True, interactive=True)}
        if step.result is None:
            return self._no_result()
        name = f"{Path(step.result.table.name).name.split('.')[0] or 'pairs'}_scored.csv"
        path = self._shelf.put(name, csv_file(step.result.records(), step.result.table.form.delimiter))
        return {
            self.result: scored(step.result),
            self.download: gr.DownloadButton(f"Download {name}", value=str(path), visible=True),
            self.score: gr.Button(visible=False, interactive=True),
        }

    def _no_result(self) -> Updates:
        return {self.result: "", self.download: gr.DownloadButton(visible=False), self.score: gr.Button(visible=False)}

    def _cleared(self) -> Updates:
        """No result, such as that of an earlier file, and nothing is being scored."""
        return {**self._no_result(), **{column: gr.Dropdown(interactive=True) for column in self._chosen}}

    def _hidden(self) -> Updates:
        return {self.columns: gr.Row(visible=False), **self._cleared()}

    def _on_clear(self, session: Session) -> Updates:
        close_pairs(session)
        return {**self._hidden(), self.stage: ""}


def progress(step: Step[ScoredPairs]) -> Markup:
    if not step.total:
        return html.status(f"{step.stage} …")
    return html.counted(step.stage, step.done, step.total, "different sentences", "Scoring the file of pairs", step.left)


def scored(result: ScoredPairs) -> Markup:
    """Summary with the agreement, words with their share of the rows, and the rows worth reading."""
    count, columns, labels = len(result.scores), result.columns, result.labels
    text = f"{amount(count, 'row')} of {result.table.name} scored in {duration(result.seconds)}"
    how = html.hint(
        f"“{columns.first}” and “{columns.second}” with {result.model}; the download has one more column, “{result.score_column}”."
    )
    agreement = Markup()
    if labels and result.agreement:
        details = html.info(wording.details(labels, result.agreement), "About the agreement")
        agreement = Markup('<div class="pair-agreement">{} {}</div>').format(wording.sentence(labels, result.agreement), details)
    left_out = wording.left_out(labels) if labels else []
    notes = html.notes([*left_out, *skipped_summary(result.reading.skipped), *result.reading.notes])
    head = Markup('<div class="could-go" role="status"><p><b>{}</b>.</p>{}{}{}</div>')
    body = Markup('<div class="pair-file">{}{}</div>').format(_words(result), _rows(result))
    return head.format(text, agreement, how, notes) + body


def _words(result: ScoredPairs) -> Markup:
    counts, total = result.words(), len(result.scores)
    if not counts:
        return Markup()
    cells = [(word, f"{count:,}", html.bar(count / total, "sbert", f"{count:,} of {total:,}")) for word, count in counts.items()]
    hint = html.hint("By the score alone, without the cautions of the tab “Two sentences”.")
    return Markup("<section>{}{}</section>").format(html.table(("By score", "Rows", ""), cells), hint)


def _rows(result: ScoredPairs) -> Markup:
    """With labels, the pairs that disagree most with them; else the highest and the lowest scores."""
    if result.labels and result.agreement:
        titles, sides = wording.side_titles(result.labels), result.disagreeing()
        lead = Markup('<div class="pair-lead"><b>Where score and label are furthest apart</b> {}</div>')
        lead = lead.format(html.info(RANKS, "How they are ranked"))
    else:
        titles, sides, lead = wording.EXTREMES, result.extremes(), Markup()
    tables = Markup().join(_table(title, pairs, result) for title, pairs in zip(titles, sides, strict=True) if pairs)
    nothing = html.hint("No pair disagrees with its label.")
    return Markup('<section class="pair-rows">{}{}</section>').format(lead, tables or nothing)


def _table(title: str, pairs: Sequence[ShownPair], result: ScoredPairs) -> Markup:
    label = ["Label"] if result.columns.labels else []
    rows = []
    for pair in pairs:
        texts = [*([pair.label] if label else []), pair.sentence1, pair.sentence2]
        rows.append([f"{pair.row:,}", rounded(pair.score), *(html.short(text, SENTENCE_LENGTH) for text in texts)])
    table = html.table(("Row", "Score", *label, *result.columns.sentences), rows)
    region = Markup('{}<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>')
    return region.format(html.hint(title), title, table)
