"""The Timing tab: a race, its extrapolation to any number of sentences, and the paper's Table 7 on this machine."""

from collections.abc import Iterator
from functools import partial

import gradio as gr
from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.jobs.timing import DEFAULT_SECONDS, TIMING, race_corpus, race_session, table_7
from sbert_app.runtime import Session, Workbench
from sbert_app.step import Step, throttled
from sbert_app.timing.race import FINAL_STAGES, RaceState
from sbert_app.timing.report import IN_PAPER
from sbert_app.timing.result import TimingResult
from sbert_app.ui.header import SCORERS_AT_FIRST, scorer_choices
from sbert_app.ui.kit import files, html
from sbert_app.ui.kit.events import PRIVATE, LongJob, Updates, handler
from sbert_app.ui.timing import race_view, view

MOST_SECONDS = 120  # of a race on the page
REFRESH_SECONDS = 0.3  # drawing uses the processor that is being timed
LEAD = "A cross-encoder reads every **pair**, SBERT reads every **sentence once**. Race them, on this machine."
TABLE_7 = Markup("""<h2 class="section">Sentences per second, as in the paper's Table 7</h2>
<p class="hint">Encodes up to 1,000 of the sentences with each system in turn, for about ten seconds on each device.</p>""")
NOW = Markup("""<h2 class="section">Now on this machine</h2>
<p class="hint">Both systems take turns on the corpus, for about half a minute.</p>""")
FIRST = 4  # the slider's exponent: 10,000 sentences
# Moves the dotted line in the browser, as the chart need not be sent again; names chart and slider's number for screen readers.
MOVE_LINE = """exponent => {
  const sentences = Number((10 ** exponent).toPrecision(2));
  document.querySelector('#race-n [type=range]')?.setAttribute('aria-valuetext', `${sentences.toLocaleString('en')} sentences`);
  const box = document.querySelector('#race-chart'), chart = box?.querySelector('.js-plotly-plot');
  box?.setAttribute('role', 'group');
  box?.setAttribute('aria-label', 'Chart: seconds by number of sentences. The table of all numbers below has the same content.');
  if (chart?.layout?.shapes) Plotly.relayout(chart, {'shapes[0].x0': sentences, 'shapes[0].x1': sentences});
}"""
TICKS = Markup('<div class="ticks" aria-hidden="true">{}</div>').format(  # under the slider, logarithmic from 100 to 1,000,000
    Markup().join(Markup('<span style="--p:{}">{:,}</span>').format((power - 2) / 4, 10**power) for power in range(2, 7))
)
LIKE_THE_ENCODER = ("one with the encoder's backbone", "")
NOTHING = "Stopped before both systems finished a turn, so there is nothing to extrapolate from."


class TimingTab:
    def __init__(self, bench: Workbench, session: gr.State, model: gr.State) -> None:
        self._bench, self._session, self._model = bench, session, model
        gr.Markdown(LEAD, elem_classes="lead")
        self.words = gr.HTML(view.story(sentences_at(FIRST)), elem_id=race_view.SENTENCE, js_on_load=None)
        self.sentences = gr.Slider(2, 6, FIRST, step=0.05, label="Number of sentences", elem_id="race-n", elem_classes="log-slider")
        gr.HTML(TICKS, elem_id="race-ticks", js_on_load=None)
        self._draw_race()
        self._draw_result()
        gr.HTML(TABLE_7, js_on_load=None)
        with gr.Row(elem_classes="examples"):
            self.measure = gr.Button("Measure", size="sm", elem_id="table-7-measure")
            self.stop_measuring = gr.Button("Stop", size="sm", variant="stop", visible=False, elem_id="table-7-stop")
        self.measuring = gr.HTML(elem_id="table-7-stage", js_on_load=None)
        self.table_7 = gr.HTML(elem_id="table-7", js_on_load=None)
        self.race = LongJob(self.stop, self.stage, self.start, self.measure)
        self.systems = LongJob(self.stop_measuring, self.measuring, self.start, self.measure)

    def _draw_race(self) -> None:
        gr.HTML(NOW, js_on_load=None)
        with gr.Row(elem_id="race-top"):
            self.start = gr.Button("Start the race", variant="primary", elem_id="race")
            self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="race-stop")
            self.corpus = gr.HTML(race_view.race_corpus(race_corpus(self._bench, Session())), elem_id="course", js_on_load=None)
        self.stage = gr.HTML(elem_id="race-stage", js_on_load=None)
        self.progress = gr.HTML(elem_id="lanes", js_on_load=None)
        with gr.Accordion("Options", open=False, elem_id="race-options"):
            self.seconds = gr.Slider(
                2, min(MOST_SECONDS, self._bench.settings.limits.race_seconds), DEFAULT_SECONDS, step=1,
                label="Seconds of work for the cross-encoder", elem_id="race-seconds",
                info="More seconds give a more precise rate. SBERT takes its turns in between.",
            )  # fmt: skip
            self.cross = gr.Dropdown(
                [LIKE_THE_ENCODER, *SCORERS_AT_FIRST], value="", label="Cross-encoder", allow_custom_value=True,
                info="Times compare the two methods only between models of the same size.", elem_id="race-cross",
            )  # fmt: skip

    def _draw_result(self) -> None:
        self.chart = gr.Plot(label="Seconds by number of sentences", show_label=False, elem_id=race_view.CHART)
        gr.HTML(html.hint(race_view.HOW_TO_READ), js_on_load=None)
        self.links = gr.HTML(race_view.links(IN_PAPER, sentences_at(FIRST), None), elem_id="race-take-home", js_on_load=None)
        with gr.Column(visible=False, elem_id="race-result") as self.result:
            self.agreement = gr.HTML(elem_id="race-agreement", js_on_load=None)
            with gr.Accordion("All numbers, and how they were obtained", open=False, elem_id="race-numbers-box"):
                self.numbers = gr.HTML(elem_id="race-numbers", js_on_load=None)
            with gr.Row(elem_classes="examples"):
                self.page = files.FileButton("sbert-studio-timing.html", "race-page")

    def listen(self, opened: gr.State, tab: gr.Tab) -> None:
        session = [self._session]
        stop = partial(Session.stop, job=TIMING.name)  # after the current batch; measurements so far are kept
        outputs = [self.progress, self.result, self.words, self.chart, self.links, self.agreement, self.numbers]
        replaced = [self.corpus, self.start, self.measure, self.stage, *outputs]
        opened.change(handler(self._on_opened), [*session, self.sentences], replaced, **PRIVATE)
        inputs = [*session, self._model, self.seconds, self.sentences, self.cross]
        self.race.listen(self.start.click, self._on_start, inputs, outputs, stop)
        self.systems.listen(self.measure.click, self._on_measure, [*session, self._model], [self.table_7], stop)
        slider, in_words = [*session, self.sentences], [self.words, self.links]
        self.sentences.change(handler(self._in_words), slider, in_words, queue=False, trigger_mode="always_last", **PRIVATE)
        gr.on([self.sentences.change, self.chart.change], None, self.sentences, None, js=MOVE_LINE, **PRIVATE)
        tab.select(handler(self._on_tab_opened), slider, [*outputs, self.cross], **PRIVATE)
        self.page.listen(self._page, slider)

    def _on_opened(self, session: Session, exponent: float) -> Updates:
        """Show the session's corpus and the result of its last race, if there is one."""
        corpus = race_corpus(self._bench, session)
        starts = {button: gr.Button(interactive=not corpus.problem) for button in (self.start, self.measure)}
        cleared = {self.corpus: race_view.race_corpus(corpus), self.stage: "", self.progress: ""}
        return {**cleared, **starts, **self._shown(session, exponent)}

    def _on_tab_opened(self, session: Session, exponent: float) -> Updates:
        """Show the result, also that of the example after a reload; list the cross-encoders that were saved meanwhile."""
        names = [LIKE_THE_ENCODER, *scorer_choices(self._bench.registry.pair_scorers(["cross-encoder"]))]
        return {**self._shown(session, exponent), self.cross: gr.Dropdown(choices=names)}

    def _on_start(self, session: Session, model: str, seconds: int, exponent: float, cross: str | None) -> Iterator[Updates]:
        """Show the race live, then its result, which the session keeps for the slider and the export."""
        yield {**self.race.busy(html.status("Starting …")), self.result: gr.Column(visible=False), self.progress: ""}
        last: Step[RaceState] = Step("")
        race = race_session(self._bench, session, model, seconds, cross or "")
        for last in throttled(race, lambda step: step.stage in FINAL_STAGES, REFRESH_SECONDS):
            if before := last.details.get("before"):
                yield {self.stage: race_view.waiting(before)}
            else:
                yield {self.stage: html.status(f"{last.stage} …"), self.progress: race_view.progress(last.result)}
        ended = self._idle(session, self.race)
        if last.stage in FINAL_STAGES:  # otherwise another corpus was opened, which cleared the page
            ended[self.progress] = race_view.progress(last.result, ended=True)
            ended |= self._shown(session, exponent) if last.result and last.result.timing else {self.stage: html.status(NOTHING)}
        yield ended

    def _shown(self, session: Session, exponent: float) -> Updates:
        """The session's result; without one, the paper's times."""
        result = session.get(TimingResult)
        measured = {self.agreement: view.agreement(result), self.numbers: view.numbers(result)} if result else {}
        chart = race_view.race_chart(result or IN_PAPER, sentences_at(exponent))
        return {**self._in_words(session, exponent), **measured, self.result: gr.Column(visible=bool(result)), self.chart: chart}

    def _in_words(self, session: Session, exponent: float) -> Updates:
        """What depends on the number of sentences, besides the chart; without a result, the paper's."""
        result, number = session.get(TimingResult), sentences_at(exponent)
        links = race_view.links(result or IN_PAPER, number, session.get(IndexedCorpus))
        return {self.words: view.in_words(result, number) if result else view.story(number), self.links: links}

    def _page(self, session: Session, exponent: float) -> str:
        result = session.require(TimingResult, "There is no race result yet. Start a race.")
        return view.page(result, sentences_at(exponent), session.get(IndexedCorpus))

    def _on_measure(self, session: Session, model: str) -> Iterator[Updates]:
        yield self.systems.busy(html.status("Loading the model …"))
        for step in table_7(self._bench, race_corpus(self._bench, session), model, session.begin(TIMING.name)):
            if before := step.details.get("before"):
                yield {self.measuring: race_view.waiting(before)}
            elif step.result:
                yield {self.measuring: html.status("Measuring …"), self.table_7: race_view.table_7(step.result)}
        yield self._idle(session, self.systems)

    def _idle(self, session: Session, job: LongJob) -> Updates:
        """Become idle; racing is enabled only if the corpus open by now has enough sentences."""
        corpus = race_corpus(self._bench, session)
        return job.idle() | {button: gr.Button(interactive=not corpus.problem) for button in job.starts}


def sentences_at(exponent: float) -> int:
    """The slider's value as a number of sentences, rounded to two digits: 4 is 10,000, 4.05 is 11,000."""
    return int(float(f"{10 ** min(6.0, max(2.0, float(exponent))):.2g}"))
