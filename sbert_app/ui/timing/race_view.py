"""Render a running race: its corpus, the queue, and the progress of both systems."""

from collections.abc import Sequence
from html import escape

from sbert_app.services.timing import RaceCorpus
from sbert_app.timing.experiment import Moment
from sbert_app.timing.extrapolation import pairs_of
from sbert_app.timing.race import LaneState, RaceState
from sbert_app.wording import spoken


def race_corpus(corpus: RaceCorpus) -> str:
    """The corpus of the next race."""
    notes = " ".join(corpus.notes)
    return (
        f'<div class="corpus"><p><b>{escape(corpus.name)}</b><span>{len(corpus.sentences):,} different sentences · '
        f"{pairs_of(len(corpus.sentences)):,} pairs{' · ' + escape(notes) if notes else ''}</span></p></div>"
    )


def note(text: str) -> str:
    """A status line."""
    return f'<p class="stage" role="status">{escape(text)}</p>'


def waiting(before: int) -> str:
    runs = "one timing run is" if before == 1 else f"{before} timing runs are"
    return note(f"Waiting: {runs} ahead of yours. Two runs at once would disturb each other's times.")


def stage(text: str) -> str:
    return note(f"{text} …")


def progress(moment: Moment, ended: bool = False) -> str:
    """Progress of both systems; once ended, with the final rates, from which everything is extrapolated."""
    if moment.state is None:
        return ""
    result = moment.result if ended else None
    cross_rate = result.cross.rate if result else moment.state.cross.rate
    sbert_rate = result.encode.rate if result else moment.state.sbert.rate
    return f'<div class="lanes">{_cross_encoder(moment.state, cross_rate)}{_sbert(moment.state, sbert_rate, ended)}</div>'


def _cross_encoder(state: RaceState, rate: float) -> str:
    system = state.cross
    finished = system.done == system.total
    counters = [
        (f"{system.done:,}", f"of {system.total:,} pairs"),
        (_seconds(system.seconds), "for all pairs" if finished else "of work"),
        (f"{rate:,.0f}", "pairs per second"),
    ]
    if not finished:
        counters.append((spoken(system.total / rate) if rate else "–", "for all pairs, extrapolated"))
    return _system("Cross-encoder", "reads every pair", "cross", system, counters, "Finished." if finished else "")


def _sbert(state: RaceState, rate: float, ended: bool) -> str:
    system = state.sbert
    finished = state.answer_seconds is not None
    unknown = "–" if ended else "…"
    counters = [
        (f"{system.done:,}", f"of {system.total:,} sentences"),
        (_seconds(state.answer_seconds or system.seconds), "for the answer" if finished else "of work"),
        (f"{rate:,.0f}", "sentences per second"),
        (f"{pairs_of(system.total):,}" if finished else unknown, "pairs compared"),
    ]
    answer = f"Finished: the most similar pair has cosine {state.closest.score:.3f}." if state.closest else ""
    return _system("SBERT", "reads every sentence once", "sbert", system, counters, answer)


def _system(name: str, description: str, kind: str, state: LaneState, counters: Sequence[tuple[str, str]], answer: str) -> str:
    share = state.done / state.total if state.total else 0.0
    cells = "".join(f"<div><b>{escape(value)}</b><span>{escape(label)}</span></div>" for value, label in counters)
    note = f'<p class="lane-answer">{escape(answer)}</p>' if answer else ""
    return (
        f'<section class="lane {kind}"><h3>{name}<span>{description}</span></h3>'
        f'<div class="bar {kind}" role="progressbar" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{share * 100:.1f}"><i style="width:{share * 100:.2f}%"></i></div>'
        f'<div class="counters">{cells}</div>{note}</section>'
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
