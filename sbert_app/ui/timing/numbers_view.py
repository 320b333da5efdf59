"""Render every number of a race with its origin, what to take home of it, and the paper's Table 7 next to measurements here."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.evaluation import paper
from sbert_app.jobs.timing import TIMING
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.timing.extrapolation import DISTURBED
from sbert_app.timing.measurements import PLAIN, SMART, WORDS, SystemSpeed
from sbert_app.timing.report import PUBLISHED, Figure, figures, models_of_race
from sbert_app.timing.result import Rates, TimingResult
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, commands, input_of, pictures, present, row, shell
from sbert_app.ui.timing import view
from sbert_app.wording import digits, spoken

SENTENCE, CHART = "race-words", "race-chart"  # the elements of the sentence and of the chart
PAPER_ROWS = {WORDS: "Average GloVe embeddings", PLAIN: "SBERT-base", SMART: "SBERT-base, smart batching"}
NOTICEABLE = 0.05  # seconds
SECONDS = {"s": 1.0, "ms": 1e-3}  # by unit of time


def numbers(result: TimingResult) -> Markup:
    """Every number and how it was obtained, with downloads."""
    rows = figures(result)
    records = [{key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in vars(f).items()} for f in rows]
    table = html.table(("what", "value", "range of turns, or 95 % band", "how"), [_line(figure) for figure in rows])
    conditions, waited = result.conditions, result.waited
    how = (
        f"{' '.join(models_of_race(conditions))} {conditions.hardware} on {conditions.machine}, "
        f"{conditions.date}. At most {conditions.max_tokens[0]} tokens per sentence, {conditions.max_tokens[1]} per pair; "
        "including tokenising, excluding warm-up; the two systems took turns."
    )
    if waited > NOTICEABLE:
        how += f" Other jobs used the device for {waited:.1f} s in between; that time is not counted."
    if result.disturbed:
        how += f" {DISTURBED}"
    return Markup(
        '<div class="hits-head"><span>{}</span>{}</div>'
        '<div class="numbers scroll" tabindex="0" role="region" aria-label="every number">{}</div>'
    ).format(how, html.downloads("sbert-studio-timing", records), table)


def _line(figure: Figure) -> list[str]:
    """A row; a time of this machine is rounded by `spoken`, as everywhere on the tab, the paper's are in the paper's own units."""
    is_time = figure.unit in SECONDS and figure.kind != PUBLISHED

    def text(value: float) -> str:
        return spoken(value * SECONDS[figure.unit]) if is_time else digits(value)

    band = "" if figure.low is None or figure.high is None else f"{text(figure.low)} to {text(figure.high)}"
    how = Markup('<span class="kind {kind}">{kind}</span> {how}').format(kind=figure.kind, how=figure.how)
    return [figure.what, text(figure.value) if is_time else f"{text(figure.value)} {figure.unit}", band, how]


def table_7(rows: Sequence[SystemSpeed]) -> Markup:
    """Sentences per second here and in the paper."""
    cells = []
    for speed in rows:
        rates = map(digits, (speed.throughput.rate, *speed.throughput.spread))
        measured = Markup("{} <small>({} to {})</small>").format(*rates)
        cells.append([speed.system, measured, speed.device, *map(_published, paper.TABLE_7[PAPER_ROWS[speed.system]])])
    for name in ("InferSent", "Universal Sentence Encoder"):
        cells.append([name, "not measured here", "", *map(_published, paper.TABLE_7[name])])
    table = html.table(("system", "sentences/s here", "on", "paper, i7-5820K", "paper, V100"), cells)
    hint = (
        "Median of the turns (slowest and fastest). Average word vectors: here the mean of the encoder's "
        "own input vectors, in the paper of GloVe's. Without smart batching: batches of 32 in the order of the file. "
        f"{paper.SOURCE}, Table 7: BERT-base, a larger model than the default one here."
    )
    region = Markup('<div class="table-7 scroll" tabindex="0" role="region" aria-label="sentences per second">{}</div>')
    return region.format(table) + html.hint(hint)


def _published(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def links(times: Rates, sentences: int, indexed: IndexedCorpus | None) -> Markup:
    """The links under the chart. indexed: the corpus that is raced, None for the example."""
    again = commands(TIMING, options(times, sentences), input_of(indexed))
    return row(caption(times), [SENTENCE, CHART], present(), pictures(CHART, "sbert-studio-timing"), again)


def options(times: Rates, sentences: int) -> dict[str, Any]:
    """The options of the job that runs the race again."""
    if not isinstance(times, TimingResult):
        return {"sentences": sentences}
    conditions = times.conditions
    own = conditions.head_trained and not (conditions.same_backbone and conditions.cross_encoder == DEFAULT_CROSS_ENCODER)
    chosen = {"cross_encoder": conditions.cross_encoder} if own else {}
    return {"sentences": sentences, "model": conditions.encoder} | chosen


def caption(times: Rates) -> Caption:
    title = "Time to find the most similar pair, by number of sentences"
    if not isinstance(times, TimingResult):
        return Caption(title, f"{paper.SOURCE}, section 1, on a {paper.CLOSEST_PAIR_HARDWARE} · SBERT Studio")
    conditions = times.conditions
    corpus = f"{conditions.corpus} ({conditions.sentences:,} sentences)"
    models = f"{conditions.encoder} and {conditions.cross_encoder}"
    return Caption.of(title, corpus, models, f"{conditions.machine}, {conditions.hardware}", day=conditions.date)


def page(result: TimingResult, sentences: int, chart: Any, indexed: IndexedCorpus | None) -> str:
    """Render the page, with plotly's script inside: about 5 MB. indexed: as in `links`, for the command at the foot."""
    return html.render(
        "timing_page.html",
        title=f"Cross-encoder against SBERT, {result.conditions.date}",
        source=caption(result).source,
        in_words=view.in_words(result, sentences, with_method=False),
        plot=chart.to_html(full_html=False, include_plotlyjs=True, config=html.PAGE_CONFIG),
        how_to_read=view.HOW_TO_READ,
        agreement=view.agreement(result, live=False),
        numbers=numbers(result),
        method=view.method(result),
        command=shell(TIMING, options(result, sentences), input_of(indexed)),
    )
