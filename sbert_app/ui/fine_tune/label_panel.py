"""Label pairs of the open corpus in step 1: one large pair, keys, what was answered, and what the labels say so far."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus.mining import FLOOR
from sbert_app.jobs import labelling
from sbert_app.jobs.label import LEAST, adapt
from sbert_app.labelling.answers import GRADES, LABELS, LEARN, NO, UNSURE, YES, Answer, one_each
from sbert_app.labelling.estimates import Estimate, consistency
from sbert_app.runtime import Session, Workbench
from sbert_app.settings import ASSETS
from sbert_app.tables import read_table
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, Updates, dimming, handler, sent
from sbert_app.wording import amount, plural

SCRIPT = (ASSETS / "label.js").read_text(encoding="utf-8")
FILE = "labels.csv"
ABOUT = (
    "Half of the pairs are to learn from; the other half, drawn at random, is held out to measure by. All are near pairs, by "
    "meaning or by words: two rows drawn at random hardly ever mean the same."
)
TEXT_LENGTH = 1_200  # characters of a text
BUTTON = Markup('<button type="button" class="label-{0}" data-label="{1}" data-key="{2}">{3} <kbd>{4}</kbd></button>')
ACT = Markup('<button type="button" class="small" data-act="{}" data-key="{}">{}</button>')
HAND_OVER = Markup('<button type="button" class="small" data-act="handed" data-tab="Duplicates">Use {} in Duplicates</button>')
YES_OR_NO = ((YES, "y", "Yes, the same", "y"), (NO, "n", "No", "n"), (UNSURE, " ", "Cannot say", "space"))
GRADED = (*((grade, grade, "", grade) for grade in GRADES), (UNSURE, " ", "Cannot say", "space"))
# A list that is drawn again keeps its focus, and the labels that the server names.
CHANGED = """element.addEventListener('change', event => {
  const { dataset, value } = event.target;
  dataset.label = value;
  trigger('changed', { number: Number(dataset.number), label: value });
});
const choose = () => element.querySelectorAll('select').forEach(list => { list.value = list.dataset.label; });
choose(); // a panel that was hidden and comes back is made anew, with its list
new MutationObserver(choose)
  .observe(element, { childList: true, subtree: true, attributes: true, attributeFilter: ['data-label'] });"""
# After a reload the corpus is opened again, and its labels stay.
LEFT = """() => document.body.classList.contains('arrived')
  ? [{ __type__: 'update', visible: false }, ''] : [{ __type__: 'update' }, { __type__: 'update' }]"""
LISTED = 200
LEAST_PRECISION = 0.95


class LabelPanel:
    """Components and event handlers. `begin`, a button, opens it; `use` makes the labels the training data."""

    def __init__(self, bench: Workbench, session: gr.State, picker: ModelPicker) -> None:
        self._bench, self._session, self._picker = bench, session, picker
        with gr.Column(visible=False, elem_id="label-panel") as self.box:
            self.card = gr.HTML(elem_id="label", js_on_load=SCRIPT)
            with gr.Row(elem_classes="examples"):
                self.use = gr.Button("Use these labels", variant="primary", size="sm", elem_id="use-labels")
                self.download = files.FileButton(FILE, "labels-csv")
                self.upload = gr.UploadButton("Add labels.csv", size="sm", elem_id="add-labels")
            with gr.Accordion("All labels", open=False, elem_id="label-all") as self.fold:
                self.all = gr.HTML(elem_id="label-list", js_on_load=CHANGED)
            self.adapted = gr.HTML(elem_id="adapted", js_on_load=None)
            gr.HTML(html.hint(ABOUT), js_on_load=None)
        self.opened = [self.box, self.card]  # what opening it updates

    def listen(self, begin: gr.Button, opened: gr.State) -> None:
        """Connect events. opened: changes with the corpus, whose pairs were labelled."""
        session, drawn, each = [self._session], [self.card, self.all], PRIVATE | {"trigger_mode": "multiple"}
        begin.click(handler(self._on_begin), session, self.opened, **PRIVATE)
        self.card.answered(handler(self._on_answered), session, drawn, **each)
        self.card.undone(handler(self._on_undone), session, drawn, **each)
        self.fold.expand(handler(self._on_list), session, self.all, **PRIVATE)
        # One at a time: of two changes at the same moment the second would be refused.
        changed = self.all.changed(handler(self._on_changed), session, self.card, concurrency_limit=1, **each)
        changed.failure(handler(self._on_list), session, self.all, **PRIVATE)  # the list has the focus: it is not drawn again else
        opened.change(None, None, [self.box, self.adapted], js=LEFT, **PRIVATE)
        self.card.graded(handler(self._on_graded), session, self.card, **PRIVATE)
        self.upload.upload(handler(self._on_upload), [*session, self.upload], self.card, **PRIVATE)
        self.download.listen(labelling.as_csv, session)
        dimming("label", self.card.adapt, handler(self._on_adapt), session, [self.adapted, *self._picker.outputs])

    def arrived(self, session: Session) -> Updates:
        """Open it again where a reload has closed it."""
        return self._on_begin(session) if session.get(labelling.Labelling) else {}

    def _on_begin(self, session: Session) -> Updates:
        return {self.box: gr.Column(visible=True), self.card: view(labelling.begin(self._bench, session))}

    def _on_answered(self, session: Session, event: gr.EventData) -> Updates:
        told = sent(event)
        return self._drawn(labelling.answer(session, told.get("label"), told.get("count"), told.get("seconds")), told)

    def _on_undone(self, session: Session, event: gr.EventData) -> Updates:
        return self._drawn(labelling.undo(session), sent(event))

    def _drawn(self, current: labelling.Labelling, told: Mapping[str, Any]) -> Updates:
        """The next question, and the list of all labels where it is open."""
        return {self.card: view(current), **({self.all: listed(current)} if told.get("listed") else {})}

    def _on_list(self, session: Session) -> Markup:
        return listed(labelling.labelling(session))

    def _on_changed(self, session: Session, event: gr.EventData) -> Markup:
        told = sent(event)
        return view(labelling.change(session, told.get("number"), told.get("label")))

    def _on_graded(self, session: Session) -> Markup:
        return view(labelling.grade(session, not labelling.labelling(session).graded))

    def _on_upload(self, session: Session, file: str | None) -> Markup:
        with files.uploaded(file, "Choose a file of labels.") as path:
            return view(labelling.add(session, read_table(path, self._bench.settings.limits)))

    def _on_adapt(self, session: Session) -> Updates:
        made = adapt(self._bench, session)
        models = self._picker.use(made.model) if made.better else self._picker.listed()
        return {self.adapted: html.status(made.in_words), **models}


def view(current: labelling.Labelling) -> Markup:
    """The question, the buttons, what was answered last, and what the labels say."""
    answers = current.answers
    question = _counts(answers) + _question(current) + _last(current) + html.cautions(current.remarks)
    card = Markup('<div class="label-card" data-count="{}" data-drawn="{}">{}{}{}</div>')
    return card.format(len(answers), secrets.token_hex(4), question, _so_far(current.estimate()), _to_learn_from(current))


def listed(current: labelling.Labelling) -> Markup:
    """The newest labels, each to be changed."""
    if not current.answers:
        return html.empty("Nothing is labelled yet.")
    item = Markup(
        '<li><select data-number="{}" data-label="{}" aria-label="Label {}">{}</select> <span>{}</span> · <span>{}</span></li>'
    )
    options, rows = Markup().join(map(Markup("<option>{}</option>").format, LABELS)), []
    for number, given in [*enumerate(current.answers)][: -LISTED - 1 : -1]:
        texts = html.short(given.sentence1, 160), html.short(given.sentence2, 160)
        rows.append(item.format(number, given.label, number + 1, options, *texts))
    left = len(current.answers) - len(rows)
    more = html.hint(f"{left:,} older ones are in {FILE}: it comes back changed by “Add labels.csv”.") if left else ""
    return Markup('<ol class="label-list" reversed start="{}">{}</ol>{}').format(len(current.answers), Markup().join(rows), more)


def _counts(answers: Sequence[Answer]) -> Markup:
    judged = [given.same for given in one_each(answers)]
    same, unsure = sum(bool(one) for one in judged), sum(given.same is None for given in answers)
    line = f"{same:,} the same, {len(judged) - same:,} different{f', {unsure:,} cannot say' if unsure else ''}"
    twice, equal = consistency(answers)
    again = f" {equal} of {twice} {plural(twice, 'pair', 'pairs')} asked again got the same answer." if twice else ""
    return Markup('<p class="label-counts" role="status"><b>{}</b>{}{}</p>').format(line, ", saved." if answers else ".", again)


def _to_learn_from(current: labelling.Labelling) -> Markup:
    """How many of the labels are to learn from, and a button to do so once they are enough; a hosted app saves no models."""
    judged = [given for given in one_each(current.answers) if given.place >= 0]
    learnt = [given.same for given in judged if given.why == LEARN]
    line = f"{amount(len(learnt), 'label')} to learn from, {len(judged) - len(learnt):,} to measure by."
    if not current.log.keeps:
        return html.hint(line)
    if len(learnt) >= LEAST and len({*learnt}) == 2:
        return Markup('<p class="hint">{} {}</p>').format(line, ACT.format("adapt", "", "Make a model now"))
    more = f"after about {2 * (LEAST - len(learnt))} more" if len(learnt) < LEAST else "once both answers are among them"
    return html.hint(f"{line} They make a model {more}.")


def _question(current: labelling.Labelling) -> Markup:
    if current.question is None:
        return html.empty("Every pair of this corpus is labelled.")
    texts = [html.short(current.corpus.sentences[row], TEXT_LENGTH) for row in current.pairs.rows(current.question.place)]
    pair = Markup('<div class="label-pair" aria-live="polite"><p dir="auto">{}</p><p dir="auto">{}</p></div>').format(*texts)
    choices = GRADED if current.graded else YES_OR_NO
    buttons = Markup().join(BUTTON.format(label.replace(" ", "-"), label, key, name, shown) for label, key, name, shown in choices)
    scale = ACT.format("graded", "", "Ask for yes or no" if current.graded else "Ask for 0 to 5")
    undo = ACT.format("undone", "u", Markup("Undo <kbd>u</kbd>")) if current.answers else ""
    asked = "How alike are they, from 0 (not at all) to 5 (the same)?" if current.graded else "Do these two mean the same?"
    card = Markup('<p class="label-asked">{}</p>{}<div class="label-buttons">{}</div><div class="label-acts">{}{}</div>')
    return card.format(asked, pair, buttons, undo, scale)


def _last(current: labelling.Labelling) -> Markup:
    """The last answer, with what the model thinks of the pair: before the answer it would sway it."""
    if not current.answers or (last := current.answers[-1]).place < 0:
        return Markup()
    cosine, words = float(current.pairs.scores[last.place]), current.pairs.words[last.place]
    line = Markup('<p class="hint">Before: <b>{}</b>, {}. The model: cosine {:z.2f}; {:.0f} % common words. “{}” · “{}”</p>')
    return line.format(last.label, last.why, cosine, 100 * words, html.short(last.sentence1, 80), html.short(last.sentence2, 80))


def _so_far(estimate: Estimate | None) -> Markup:
    if estimate is None:
        return Markup()
    best, precise = estimate.best, estimate.precise(LEAST_PRECISION)
    points = {"Best threshold": best, f"The first with a precision of {100 * LEAST_PRECISION:.0f} %": precise}
    if precise == best:
        points.popitem()
    listed = Markup().join(Markup("<li>{}: {}</li>").format(title, point.in_words) for title, point in points.items() if point)
    head = Markup("<p>Measured on {} pairs drawn at random, for all near pairs of this corpus, with 95 % intervals. {}</p>")
    threshold = f"{best.threshold:.2f}" if best.threshold >= FLOOR else f"{FLOOR:.2f}, the lowest there is,"
    told = head.format(estimate.same + estimate.other, estimate.outlook), listed, HAND_OVER.format(threshold)
    return Markup('<div class="label-so-far">{}<ul>{}</ul>{}</div>').format(*told)
