"""The Duplicates tab: duplicates within the corpus, and rows of another file that occur in it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import gradio as gr

from sbert_app.collections.opened import OpenCollection
from sbert_app.corpus.duplicates import COPIES, REMOVALS, SIMILAR, UNMARKED
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.mining import FLOOR
from sbert_app.errors import UserError
from sbert_app.jobs import validation
from sbert_app.jobs.duplicates import job
from sbert_app.jobs.labelling import best_threshold
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.runtime import Session, Workbench
from sbert_app.tables import csv_file
from sbert_app.ui.corpus.panel import corpus_start
from sbert_app.ui.duplicates import groups_view, view
from sbert_app.ui.duplicates.overlap_panel import OverlapPanel
from sbert_app.ui.header import scorer_choices, second_opinion
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler, sent

LEAD = "Find sentences that **repeat** each other, word for word or in other words. Decide which of them go."
FILES: dict[str, Callable[[Findings], str]] = {
    view.CLEANED: Findings.cleaned_file,
    view.VERDICTS: lambda found: csv_file(list(found.verdicts()), found.corpus.form.delimiter),
    view.PAIRS: lambda found: csv_file([*map(view.pair_record, found.pairs(job.MOST_LISTED))], found.corpus.form.delimiter),
}
BORDERLINE = 50  # borderline pairs to show and to score with the cross-encoder
CHOICES = [
    ("Exact copies only", COPIES),
    ("Similar rows too, but not marked ones", UNMARKED),
    ("Exact copies and similar rows", SIMILAR),
]
# "picked" is a custom event: a group to keep whole, or not any more.
PICKED = """element.addEventListener('click', event => {
  const button = event.target.closest('button[data-centre]');
  if (!button) return;
  const unfolded = Boolean(element.querySelector('details.dup-more')?.open);
  trigger('picked', {centre: Number(button.dataset.centre), whole: button.getAttribute('aria-pressed') !== 'true', unfolded});
});"""


@dataclass(frozen=True)
class Removal:
    """What was chosen last, which comes back with the page."""

    threshold: float
    remove: str
    of_corpus: ClassVar[bool] = True  # dropped with the corpus


class DuplicatesTab:
    """The mined pairs are in the visitor's session. `start`: the choice of corpora shown while none is open."""

    def __init__(self, bench: Workbench, session: gr.State) -> None:
        self._bench, self._session = bench, session
        gr.Markdown(LEAD, elem_classes="lead")
        self.start = corpus_start(bench)
        with gr.Column(visible=False) as self.body:
            self._draw()
            self.overlap = OverlapPanel(bench, session)
        self._chosen = [session, self.threshold, self.remove]
        self._decisions = [self.staying, self.groups, self.links, *(file.button for file in self.files.values())]
        self._findings = [self.headline, self.borderline, *self._decisions]
        self._everything = [self.threshold, self.result, *self._findings]
        self.job = LongJob(self.stop, self.stage, self.find)

    def _draw(self) -> None:
        with gr.Row(elem_classes="examples"):
            self.find = gr.Button("Find duplicates", variant="primary", interactive=False, elem_id="find-duplicates")
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="duplicates-stop")
        self.stage = gr.HTML(elem_id="duplicates-stage", js_on_load=None)
        self.headline = gr.HTML(html.empty(view.NOT_YET), elem_id=view.HEADLINE, js_on_load=None)
        with gr.Column(visible=False, elem_id="duplicates-result") as self.result:
            with gr.Row(elem_id="duplicates-choices"):
                self.threshold = gr.Slider(
                    FLOOR, 1, job.DEFAULT_THRESHOLD, step=0.01, label="Similar from this cosine", min_width=300,
                    info="A lower threshold finds more rows, also less similar ones.", elem_id="duplicates-threshold",
                )  # fmt: skip
                self.remove = gr.Radio(CHOICES, value=COPIES, label="Remove", min_width=300, elem_id="duplicates-remove")
            self.groups = gr.HTML(elem_id=view.GROUPS, js_on_load=PICKED)
            with gr.Accordion("Borderline pairs", open=False, elem_id="duplicates-check") as self.check:
                with gr.Row(elem_id="duplicates-second"):
                    self.cross = second_opinion("duplicates-cross")
                    self.score = gr.Button("Score the pairs", size="sm", min_width=160, elem_id="duplicates-ask")
                self.borderline = gr.HTML(elem_id="duplicates-borderline", js_on_load=None)
            with gr.Row(elem_id="duplicates-foot"):
                self.staying = gr.HTML(elem_id=view.STAYING, js_on_load=None)
                with gr.Row(elem_classes="examples"):  # a file is made when its button is clicked
                    self.files = {name: files.FileButton(name, f"duplicates-{name.removesuffix('.csv')}") for name in FILES}
                self.links = gr.HTML(elem_id="duplicates-take-home", js_on_load=None)

    def listen(self, opened: gr.State) -> None:
        """Connect events. `opened` changes with the corpus."""
        chosen, shown, decided, bench = self._chosen, self._everything, self._decisions, self._bench
        found = self.job.listen(self.find.click, self._on_find, [self._session], [], lambda session: session.stop(job.MINING))
        found.then(handler(self._on_found), chosen, shown, **PRIVATE)  # with the threshold that the page has by then
        gr.on([self.threshold.input, self.remove.input], handler(self._on_chosen), chosen, trigger_mode="always_last", **PRIVATE)
        self.threshold.change(handler(self._on_slide), chosen, self._findings, trigger_mode="always_last", **PRIVATE)
        self.remove.input(handler(self._on_remove), chosen, decided, trigger_mode="always_last", **PRIVATE)
        self.groups.picked(handler(self._on_picked), chosen, decided, trigger_mode="multiple", **PRIVATE)
        self.score.click(handler(self._on_score), [self._session, self.threshold, self.cross], self.borderline, **PRIVATE)
        self.check.expand(lambda: gr.Dropdown(choices=scorer_choices(bench.registry.pair_scorers())), None, self.cross, **PRIVATE)
        for name, file in self.files.items():
            file.listen(lambda *chosen, name=name: FILES[name](job.findings_of(*chosen)), chosen)
        everything = [self.body, *self.job.outputs, self.remove, *shown, *self.overlap.outputs]
        opened.change(handler(self._on_opened), chosen, everything, **PRIVATE)

    def take_threshold(self, card: gr.HTML) -> None:
        """Take the threshold that labels suggest whenever it is handed over. card: where pairs are labelled."""
        card.handed(handler(self._on_handed), [self._session, self.remove], self._everything, **PRIVATE)

    def _on_handed(self, session: Session, remove: str) -> Updates:
        threshold = round(max(FLOOR, best_threshold(session)), 2)
        self._on_chosen(session, threshold, remove)
        return self._mined(session, threshold, remove) if session.get(Mined) else {self.threshold: threshold}

    def _on_opened(self, session: Session, threshold: float, remove: str) -> Updates:
        """Show what the session holds: after a reload the pairs found before, after another corpus nothing."""
        can_mine = len(session.corpus().corpus) > 1
        idle = {**self.job.idle(), self.find: gr.Button(interactive=can_mine)}
        idle |= {self.body: gr.Column(visible=True), **self.overlap.of_corpus(session)}
        if session.get(Mined):
            chosen = session.get(Removal) or Removal(threshold, remove)
            return {**idle, self.remove: chosen.remove, **self._mined(session, chosen.threshold, chosen.remove)}
        why = view.not_yet(session.get(OpenCollection)) if can_mine else view.ONE_ROW
        slider = gr.Slider(minimum=FLOOR, value=job.DEFAULT_THRESHOLD, step=0.01)
        reset = {self.threshold: slider, self.remove: COPIES, self.result: gr.Column(visible=False)}
        return {**idle, self.headline: html.empty(why), **reset}

    def _on_find(self, session: Session) -> Iterator[Updates]:
        steps = self.job.following(job.mine(self._bench, session), view.progress, html.status(view.STOPPED))
        yield from (state for _, state in steps)

    def _on_found(self, session: Session, threshold: float, remove: str) -> Updates:
        return self._mined(session, threshold, remove) if session.get(Mined) else {self.headline: gr.skip()}

    def _mined(self, session: Session, threshold: float, remove: str) -> Updates:
        """Show the pairs found, from the lowest threshold on that they hold."""
        findings = job.findings_of(session, threshold, remove)
        floor = findings.mined.duplicates.pairs.floor
        step = 0.01 if floor < 0.9 else 0.001  # smaller if the range to 1 is short
        low = round(min(math.ceil(floor / step) * step, 1 - step), 3)
        slider = gr.Slider(minimum=low, value=round(max(findings.threshold, low), 3), step=step)
        return {self.threshold: slider, self.result: gr.Column(visible=True), **self._shown(session, findings)}

    def _on_chosen(self, session: Session, threshold: float, remove: str) -> None:
        removal = validation.one_of(remove, "rows to remove", REMOVALS) or COPIES
        session.put(Removal(validation.number(threshold, "threshold", FLOOR, 1), removal))

    def _on_slide(self, session: Session, threshold: float, remove: str) -> Updates:
        """Show another threshold, unless the slider was reset because another corpus was opened."""
        mined = session.get(Mined)
        return self._shown(session, job.findings_of(session, threshold, remove)) if mined else {self.headline: gr.skip()}

    def _shown(self, session: Session, findings: Findings) -> Updates:
        """Everything that depends on the threshold."""
        borderline = view.borderline(findings.borderline(BORDERLINE), findings.threshold, session.get(job.SecondOpinion))
        headline = html.cautions(findings.mined.cautions) + view.headline(findings)
        return {self.headline: headline, self.borderline: borderline, **self._decided(findings)}

    def _on_remove(self, session: Session, threshold: float, remove: str) -> Updates:
        return self._decided(job.findings_of(session, threshold, remove))

    def _decided(self, findings: Findings, unfolded: bool = False) -> Updates:
        """Everything that depends on which rows go."""
        amounts = view.amounts(findings)
        buttons = {file.button: file.labelled(amounts[name]) for name, file in self.files.items()}
        listed = {self.groups: groups_view.groups(findings, unfolded), self.links: view.links(findings)}
        return {self.staying: view.staying(findings), **listed, **buttons}

    def _on_picked(self, session: Session, threshold: float, remove: str, event: gr.EventData) -> Updates:
        match sent(event):
            case {"centre": int(centre), "whole": bool(whole), "unfolded": bool(unfolded)}:
                job.keep_group(session, threshold, centre, whole)
            case _:
                raise UserError(job.NO_GROUP)
        return self._decided(job.findings_of(session, threshold, remove), unfolded)

    def _on_score(self, session: Session, threshold: float, cross: str | None) -> str:
        pairs, opinion = job.score_borderline(self._bench, session, threshold, BORDERLINE, cross or DEFAULT_CROSS_ENCODER)
        return view.borderline(pairs, threshold, opinion)
