"""Render a running race: its corpus, the queue, and the progress of both systems."""

from collections.abc import Sequence

from markupsafe import Markup

from sbert_app.models.files.trained_for import in_words
from sbert_app.timing.race import LaneState, RaceCorpus, RaceState
from sbert_app.timing.throughput import pairs_of
from sbert_app.ui.kit import html
from sbert_app.wording import digits, spoken


def race_corpus(corpus: RaceCorpus) -> Markup:
    """The corpus of the next race, or why there is none."""
    if corpus.problem:
        return html.empty(corpus.problem)
    count, notes = corpus.count, " ".join(corpus.notes)
    facts = [f"{count:,} different sentences", f"{pairs_of(count):,} pairs", *([notes] if notes else [])]
    return Markup('<div class="corpus"><b>{}</b><span>{}</span></div>').format(corpus.name, " · ".join(facts))


def waiting(before: int) -> Markup:
    runs = "one timing run is" if before == 1 else f"{before} timing runs are"
    return html.status(f"Waiting: {runs} ahead of yours. Two runs at once would disturb each other's times.")


def progress(state: RaceState | None, ended: bool = False) -> Markup:
    """Progress of both systems; once ended, with the final rates, from which everything is extrapolated."""
    if state is None:
        return Markup()
    cross_rate, sbert_rate, cross, sbert = state.cross.rate, state.sbert.rate, "", ""
    if ended and state.timing:
        cross_rate, sbert_rate = state.timing.cross.rate, state.timing.encode.rate
    if conditions := state.conditions:
        purpose = f", {in_words(conditions.trained_for)}" if conditions.head_trained else ""
        cross = f"{conditions.cross_encoder}{purpose}{'' if conditions.same_backbone else ', another backbone'}"
        sbert = conditions.encoder
    return Markup('<div class="lanes">{}{}</div>').format(
        _cross_encoder(state.cross, cross_rate, cross), _sbert(state, sbert_rate, ended, sbert)
    )


def _cross_encoder(lane: LaneState, rate: float, model: str) -> Markup:
    finished = lane.done == lane.total
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} pairs"),
        (spoken(lane.seconds), "for all pairs" if finished else "of work"),
        (digits(rate), "pairs per second"),
    ]
    if not finished:
        counters.append((spoken(lane.total / rate) if rate else "–", "for all pairs, extrapolated"))
    heading = "Cross-encoder", "reads every pair", model
    return _lane(heading, "cross", lane, counters, "Finished." if finished else "")


def _sbert(state: RaceState, rate: float, ended: bool, model: str) -> Markup:
    lane, finished = state.sbert, state.answer_seconds is not None
    unknown = "–" if ended else "…"
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} sentences"),
        (spoken(state.answer_seconds or lane.seconds), "for the answer" if finished else "of work"),
        (digits(rate), "sentences per second"),
        (f"{pairs_of(lane.total):,}" if finished else unknown, "pairs compared"),
    ]
    answer = f"Finished: the most similar pair has cosine {state.closest.score:.3f}." if state.closest else ""
    return _lane(("SBERT", "reads every sentence once", model), "sbert", lane, counters, answer)


def _lane(heading: tuple[str, str, str], kind: str, state: LaneState, counters: Sequence[tuple[str, str]], answer: str) -> Markup:
    """A lane. heading: its name, what it does, and its model, "" if that is not known yet."""
    name, description, model = heading
    percent = 100 * state.done / state.total if state.total else 0.0
    cells = Markup().join(Markup("<div><b>{}</b><span>{}</span></div>").format(*counter) for counter in counters)
    line = Markup('<p class="hint lane-model">{}</p>').format(model) if model else Markup()
    end = Markup('<p class="lane-answer">{}</p>').format(answer) if answer else ""
    return Markup(
        '<section class="lane {kind}"><h3>{name}<span>{description}</span></h3>{model}'
        '<div class="bar {kind}" role="progressbar" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        'aria-valuenow="{percent:.1f}"><i style="width:{percent:.2f}%"></i></div><div class="counters">{cells}</div>{end}</section>'
    ).format(kind=kind, name=name, description=description, model=line, percent=percent, cells=cells, end=end)
