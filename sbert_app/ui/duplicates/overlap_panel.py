"""Panel that finds the rows of another file that already occur in the corpus, for instance test rows in a training set."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import gradio as gr
from markupsafe import Markup

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.mining import FLOOR
from sbert_app.jobs.duplicates.job import DEFAULT_THRESHOLD
from sbert_app.jobs.duplicates.overlap import OVERLAP, FileOverlap, Match, compare_file, matches_of
from sbert_app.runtime import Session, Workbench
from sbert_app.step import Step
from sbert_app.tables import csv_file, read_table
from sbert_app.ui.duplicates.view import FILE_ROW, pair_item
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler
from sbert_app.wording import amount, plural

LEAD = "Find rows of another file that already occur in this corpus, such as test sentences in a training set."
SHOWN = 50  # rows listed in each of the two lists
STOPPED = "Stopped. Encoded rows are kept: upload the file again to continue."


class OverlapPanel:
    def __init__(self, bench: Workbench, session: gr.State) -> None:
        self._bench = bench
        with gr.Accordion("Compare with another file", open=False, elem_id="overlap-box") as self.block:
            gr.HTML(html.hint(LEAD), js_on_load=None)
            self.file = gr.File(label="The other file", height=130, elem_id="overlap-file")
            self.stop = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="overlap-stop")
            self.stage = gr.HTML(elem_id="overlap-stage", js_on_load=None)
            with gr.Column(visible=False) as self.result:
                self.threshold = gr.Slider(
                    FLOOR, 1, DEFAULT_THRESHOLD, step=0.01, label="Match from this cosine", elem_id="overlap-threshold"
                )
                self.overlap = gr.HTML(elem_id="overlap", js_on_load=None)
                with gr.Row(elem_classes="examples"):
                    self.export = files.FileButton("overlap.csv", "overlap-export")
        self.job = LongJob(self.stop, self.stage)
        self.outputs = [self.block, self.file, self.stage, self.result]
        shown, with_threshold = [self.overlap, self.export.button], [session, self.threshold]
        inputs, outputs = [session, self.file, self.threshold], [self.result, *shown]
        started = self.job.listen(self.file.upload, self._on_file, inputs, outputs, lambda session: session.stop(OVERLAP))
        started.failure(lambda: None, None, self.file, **PRIVATE)  # so that another file can be uploaded
        self.threshold.change(handler(self._shown), with_threshold, shown, trigger_mode="always_last", **PRIVATE)
        self.export.listen(_csv, with_threshold)

    def of_corpus(self, session: Session) -> Updates:
        """Clear the comparison with the previous corpus."""
        block = gr.Accordion(visible=session.get(OpenCollection) is None)
        return {self.block: block, self.file: None, self.stage: "", self.result: gr.Column(visible=False)}

    def _on_file(self, session: Session, file: str, threshold: float) -> Iterator[Updates]:
        with files.uploaded(file, "Choose the other file.") as path:
            table = read_table(path, self._bench.settings.limits)
        for step, state in self.job.following(compare_file(self._bench, session, table), _progress, html.status(STOPPED)):
            yield state | ({self.result: gr.Column(visible=True), **self._shown(session, threshold)} if step.result else {})

    def _shown(self, session: Session, threshold: float) -> Updates:
        compared, matches = matches_of(session, threshold)
        export = self.export.labelled(amount(len(matches), "row") if matches else "")
        return {self.overlap: overlap(compared, matches, threshold), self.export.button: export}


def _csv(session: Session, threshold: float) -> str:
    compared, matches = matches_of(session, threshold)
    return csv_file([asdict(match) for match in matches], compared.indexed.corpus.form.delimiter)


def _progress(step: Step[FileOverlap]) -> Markup:
    return html.counted(step.stage, step.done, step.total, "rows", "Comparing with the other file")


def overlap(compared: FileOverlap, matches: Sequence[Match], threshold: float) -> Markup:
    """The rows of the other file that have a match in the corpus, closest first."""
    reworded, copied = ([match for match in matches if match.same is same] for same in (False, True))
    stages = html.milliseconds({name: seconds * 1e3 for name, seconds in compared.seconds.items()})
    words = f", {len(copied):,} word for word" if copied else ""
    report = compared.indexed.index.report
    how = "" if report.kind == "exact" else f" Searched with an approximate index, recall {report.recall:.3f}."
    share = f"{len(matches):,} of {amount(len(compared.other), 'row')}"
    read = f"{plural(len(compared.other.columns), 'column', 'columns')} {', '.join(compared.other.columns)}"
    have, cosine = plural(len(matches), "has", "have"), f"cosine ≥ {threshold:.3g}{words}"
    head = Markup('<div class="could-go" role="status"><p><b>{}</b> of {} {} a match in {} at {}.</p>{}</div>').format(
        share, compared.other.name, have, compared.indexed.corpus.name, cosine, html.hint(f"Read from {read}. {stages}.{how}")
    )
    return head + _list("In other words", reworded) + _list("Word for word", copied)


def _list(title: str, matches: Sequence[Match]) -> Markup:
    if not matches:
        return Markup()
    which = html.hint(f"The closest {SHOWN} of them; the export has all.") if len(matches) > SHOWN else Markup()
    return Markup('<h2 class="section">{}: {}</h2>{}<ol class="dup-pairs">{}</ol>').format(
        title, amount(len(matches), "row"), which, Markup().join(map(_match, matches[:SHOWN]))
    )


def _match(match: Match) -> Markup:
    file_row, corpus_row = FILE_ROW.format(f"file row {match.row:,}"), FILE_ROW.format(f"corpus row {match.corpus_row:,}")
    if match.same:
        return pair_item(f"{match.score:.3f}", "same text", [(match.sentence, Markup("{} = {}").format(file_row, corpus_row))])
    return pair_item(f"{match.score:.3f}", "cosine", [(match.sentence, file_row), (match.corpus_sentence, corpus_row)])
