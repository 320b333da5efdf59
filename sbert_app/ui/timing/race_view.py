"""Render a race: its corpus, the queue, the progress of both systems; Table 7; the chart of times by number of sentences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.evaluation import paper
from sbert_app.jobs.timing import TIMING
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import in_words
from sbert_app.timing.extrapolation import Extrapolation, pairs_of
from sbert_app.timing.measurements import PLAIN, SMART, WORDS, SystemSpeed
from sbert_app.timing.race import LaneState, RaceCorpus, RaceState
from sbert_app.timing.result import APPROXIMATE, CROSS, EXACT, MOST_SENTENCES, SBERT, Rates, TimingResult
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, commands, input_of, pictures, present, row
from sbert_app.wording import digits, spoken

SENTENCE, CHART = "race-words", "race-chart"  # the elements of the sentence and of the chart
PAPER_ROWS = {WORDS: "Average GloVe embeddings", PLAIN: "SBERT-base", SMART: "SBERT-base, smart batching"}
HOW_TO_READ = (
    "Solid: measured. Dashed: extrapolated, with a 95 % band of this race's turns: under another load a race may lie outside it. "
    "Dotted: the chosen number of sentences."
)
AMBER = "#c2650b"  # readable on light and dark
POINTS = 40
FIRST = 10
YEAR = 365.25 * 86400
SIZES = ("10", "100", "1,000", "10,000", "100k", "1M")
TICKS = {1e-5: "10 µs", 1e-3: "1 ms", 0.1: "0.1 s", 1: "1 s", 60: "1 min", 3600: "1 hour", 86400: "1 day", YEAR: "1 year",
         30 * YEAR: "30 years"}  # fmt: skip
Points = Sequence[tuple[int, float]]
Rule = Callable[[int], Extrapolation]  # from a number of sentences to a time


def race_corpus(corpus: RaceCorpus) -> Markup:
    """The corpus of the next race, or why there is none."""
    if corpus.problem:
        return html.empty(corpus.problem)
    facts = [f"{corpus.count:,} different sentences", f"{pairs_of(corpus.count):,} pairs", " ".join(corpus.notes)]
    return Markup('<div class="corpus"><b>{}</b><span>{}</span></div>').format(corpus.name, " · ".join(filter(None, facts)))


def waiting(before: int) -> Markup:
    runs = "one timing run is" if before == 1 else f"{before} timing runs are"
    return html.status(f"Waiting: {runs} ahead of yours. Two runs at once would disturb each other's times.")


def progress(state: RaceState | None, ended: bool = False) -> Markup:
    """Progress of both systems; once ended, with the final rates, from which everything is extrapolated."""
    if state is None:
        return Markup()
    return Markup('<div class="lanes">{}{}</div>').format(_cross_encoder(state, ended), _sbert(state, ended))


def _cross_encoder(state: RaceState, ended: bool) -> Markup:
    lane, model = state.cross, ""
    rate = state.timing.cross.rate if ended and state.timing else lane.rate
    finished = lane.done == lane.total
    if conditions := state.conditions:
        purpose = f", {in_words(conditions.trained_for)}" if conditions.head_trained else ""
        model = f"{conditions.cross_encoder}{purpose}{'' if conditions.same_backbone else ', another backbone'}"
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} pairs"),
        (spoken(lane.seconds), "for all pairs" if finished else "of work"),
        (digits(rate), "pairs per second"),
    ]
    if not finished:
        counters.append((spoken(lane.total / rate) if rate else "–", "for all pairs, extrapolated"))
    return _lane(("Cross-encoder", "reads every pair", model), "cross", lane, counters, "Finished." if finished else "")


def _sbert(state: RaceState, ended: bool) -> Markup:
    lane, found, model = state.sbert, state.answer, state.conditions.encoder if state.conditions else ""
    rate = state.timing.encode.rate if ended and state.timing else lane.rate
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} sentences"),
        (spoken(found.seconds if found else lane.seconds), "for the answer" if found else "of work"),
        (digits(rate), "sentences per second"),
        (f"{pairs_of(lane.total):,}" if found else "–" if ended else "…", "pairs compared"),
    ]
    answer = f"Finished: the most similar pair has cosine {found.pair.score:.3f}." if found else ""
    return _lane(("SBERT", "reads every sentence once", model), "sbert", lane, counters, answer)


def _lane(heading: tuple[str, str, str], kind: str, state: LaneState, counters: Sequence[tuple[str, str]], answer: str) -> Markup:
    """A lane. heading: its name, what it does, and its model, "" if that is not known yet."""
    name, description, model = heading
    percent = 100 * state.done / state.total if state.total else 0.0
    cells = Markup().join(Markup("<div><b>{}</b><span>{}</span></div>").format(*counter) for counter in counters)
    line = Markup('<p class="hint lane-model">{}</p>').format(model) if model else Markup()
    end = Markup('<p class="lane-answer">{}</p>').format(answer) if answer else ""
    return Markup(
        '<section class="lane {kind}"><h3>{name} <span>{description}</span></h3>{model}'
        '<div class="bar {kind}" role="progressbar" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        'aria-valuenow="{percent:.1f}"><i style="width:{percent:.2f}%"></i></div><div class="counters">{cells}</div>{end}</section>'
    ).format(kind=kind, name=name, description=description, model=line, percent=percent, cells=cells, end=end)


def table_7(rows: Sequence[SystemSpeed]) -> Markup:
    cells = []
    for speed in rows:
        measured = Markup("{} <small>({} to {})</small>").format(*map(digits, (speed.throughput.rate, *speed.throughput.spread)))
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


def race_chart(result: Rates, sentences: int) -> html.Figure:
    """The chart of all systems, log-log, to be read as HOW_TO_READ says; the paper's times are stars."""
    import plotly.graph_objects as go

    figure = go.Figure()
    figure.add_vline(sentences, line={"color": html.INK, "dash": "dot", "width": 1})
    bands = "rgba(194,101,11,0.18)", "rgba(20,152,141,0.18)"
    _draw_system(figure, "Cross-encoder, all pairs", AMBER, bands[0], result.measured(CROSS), result.cross_seconds)
    _draw_system(figure, "SBERT, all pairs", html.TEAL, bands[1], result.measured(SBERT), result.sbert_seconds)
    if result.queries:
        _draw_system(figure, "One search, exact index", html.MIDDLE, "", *_search(result, EXACT))
        _draw_system(figure, "One search, approximate index", "#4f6fd0", "", *_search(result, APPROXIMATE))
    published = {"65 hours": paper.CLOSEST_PAIR_SECONDS[CROSS], "5 seconds": paper.CLOSEST_PAIR_SECONDS[SBERT]}
    figure.add_scatter(
        x=[paper.CLOSEST_PAIR_SENTENCES] * 2, y=list(published.values()), customdata=list(published), mode="markers+text",
        text=[f"paper, {text}" for text in published], textposition=["top left", "bottom right"],
        name=f"The paper: BERT-base on a {paper.CLOSEST_PAIR_HARDWARE}",
        marker={"symbol": "star", "size": 13, "color": html.INK, "line": {"width": 1, "color": "white"}},
        hovertemplate=f"%{{x:,}} sentences: %{{customdata}}<br>published<extra>{paper.SOURCE}</extra>",
    )  # fmt: skip
    html.quiet(figure, 460)
    figure.update_layout(legend=html.BELOW | {"y": -0.16}, hovermode="closest", uirevision="keep")
    figure.update_xaxes(title="sentences", tickvals=[10**i for i in range(1, 7)], ticktext=SIZES, range=[0.85, 6.25])
    figure.update_yaxes(title="time", automargin=True, tickvals=list(TICKS), ticktext=list(TICKS.values()))
    for axis in (figure.update_xaxes, figure.update_yaxes):
        axis(type="log", gridcolor=html.GRID, zeroline=False)
    return figure


def _search(result: Rates, kind: str) -> tuple[Points, Rule]:
    points = [(q.rows, q.exact_seconds if kind == EXACT else q.approximate_seconds) for q in result.queries]
    return points, lambda n: Extrapolation(result.query_seconds(kind, n) or 0.0)


def _draw_system(figure: html.Figure, name: str, colour: str, band: str, measured: Points, extrapolate: Rule) -> None:
    """Draw a system, extrapolated from its largest run on. band: the colour of the 95 % band; "" for none, with a thinner line."""
    line = {"color": colour, "width": 2.5 if band else 1.5}
    hover = "%{x:,} sentences: %{customdata}<br>"
    shared = {"legendgroup": name, "mode": "lines"}
    if measured:
        figure.add_scatter(
            x=[n for n, _ in measured], y=[seconds for _, seconds in measured], line=line, showlegend=False,
            customdata=[spoken(seconds) for _, seconds in measured], marker={"size": 8 if band else 5, "color": colour},
            hovertemplate=f"{hover}measured<extra>{name}</extra>", **(shared | {"mode": "lines+markers"}),
        )  # fmt: skip
    start = measured[-1][0] if measured else FIRST
    sizes = [int(size) for size in np.unique(np.geomspace(start, MOST_SENTENCES, POINTS).round())]  # even on the log scale
    estimates = [extrapolate(n) for n in sizes]
    if band and estimates[0].low is not None:
        edge = [*(e.high for e in estimates), *(e.low for e in estimates[::-1])]
        area = {"fill": "toself", "fillcolor": band, "hoverinfo": "skip", "showlegend": False}
        figure.add_scatter(x=[*sizes, *sizes[::-1]], y=edge, **(shared | area | {"line": {"width": 0}}))
    seconds = [estimate.seconds for estimate in estimates]
    figure.add_scatter(
        x=sizes, y=seconds, customdata=[spoken(value) for value in seconds], line=line | {"dash": "dash"}, name=name,
        hovertemplate=f"{hover}extrapolated<extra>{name}</extra>", **shared,
    )  # fmt: skip


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
