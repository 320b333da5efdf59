"""Render every number of a race with its origin, and Table 7 of the paper next to the measurements here."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.evaluation import paper
from sbert_app.timing.measurements import PLAIN, SMART, WORDS, SystemSpeed
from sbert_app.timing.report import PUBLISHED, Figure, figures, models_of_race
from sbert_app.timing.result import TimingResult
from sbert_app.timing.throughput import DISTURBED
from sbert_app.ui.kit import html
from sbert_app.wording import digits, spoken

PAPER_ROWS = {WORDS: "Average GloVe embeddings", PLAIN: "SBERT-base", SMART: "SBERT-base, smart batching"}
NOTICEABLE = 0.05  # seconds
SECONDS = {"s": 1.0, "ms": 1e-3}  # by unit of time


def numbers(result: TimingResult) -> Markup:
    """Every number and how it was obtained, with downloads."""
    rows = figures(result)
    records = [{key: float(f"{value:.5g}") if isinstance(value, float) else value for key, value in vars(f).items()} for f in rows]
    table = html.table(("what", "value", "range of turns, or 95 % band", "how"), [_row(figure) for figure in rows])
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


def _row(figure: Figure) -> list[str]:
    band = "" if figure.low is None or figure.high is None else f"{_value(figure, figure.low)} to {_value(figure, figure.high)}"
    how = Markup('<span class="kind {kind}">{kind}</span> {how}').format(kind=figure.kind, how=figure.how)
    value = _value(figure, figure.value)
    return [figure.what, value if _is_time(figure) else f"{value} {figure.unit}", band, how]


def _value(figure: Figure, value: float) -> str:
    """A time rounded by `spoken`, as everywhere on the tab; another number with at least three digits."""
    return spoken(value * SECONDS[figure.unit]) if _is_time(figure) else digits(value)


def _is_time(figure: Figure) -> bool:
    """Whether the value is a time of this machine; the paper's times are shown in the paper's own units."""
    return figure.unit in SECONDS and figure.kind != PUBLISHED


def table_7(rows: Sequence[SystemSpeed]) -> Markup:
    """Sentences per second here and in the paper."""
    cells = []
    for row in rows:
        cpu, gpu = paper.TABLE_7[PAPER_ROWS[row.system]]
        low, high = row.throughput.spread
        measured = Markup("{} <small>({} to {})</small>").format(digits(row.throughput.rate), digits(low), digits(high))
        cells.append([row.system, measured, row.device, _published(cpu), _published(gpu)])
    for name in ("InferSent", "Universal Sentence Encoder"):
        cpu, gpu = paper.TABLE_7[name]
        cells.append([name, "not measured here", "", _published(cpu), _published(gpu)])
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
