"""How a race looks while it runs: what is raced, who waits, and two lanes with counters."""

from collections.abc import Sequence
from html import escape

from sbert_app.services.timing import Course
from sbert_app.timing.experiment import Moment
from sbert_app.timing.extrapolation import pairs_of
from sbert_app.timing.race import LaneState, RaceState
from sbert_app.wording import spoken


def course(chosen: Course) -> str:
    """What will be raced, and on what."""
    extra = " ".join(chosen.notes)
    return (
        f'<div class="corpus"><p><b>{escape(chosen.name)}</b><span>{len(chosen.sentences):,} different sentences · '
        f"{pairs_of(len(chosen.sentences)):,} pairs{' · ' + escape(extra) if extra else ''}</span></p></div>"
    )


def note(text: str) -> str:
    """What there is to say beside the buttons."""
    return f'<p class="stage" role="status">{escape(text)}</p>'


def waiting(before: int) -> str:
    runs = "one timing run is" if before == 1 else f"{before} timing runs are"
    return note(f"Waiting for your turn: {runs} before yours. Two at once would spoil both.")


def stage(text: str) -> str:
    return note(f"{text} …")


def lanes(moment: Moment, ended: bool = False) -> str:
    """Both lanes at this moment; once ended, with the rates that everything else is reckoned from."""
    if moment.state is None:
        return ""
    result = moment.result if ended else None
    cross_rate = result.cross.rate if result else moment.state.cross.rate
    sbert_rate = result.encode.rate if result else moment.state.sbert.rate
    return f'<div class="lanes">{_cross_lane(moment.state, cross_rate)}{_sbert_lane(moment.state, sbert_rate, ended)}</div>'


def _cross_lane(state: RaceState, rate: float) -> str:
    lane = state.cross
    finished = lane.done == lane.total
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} pairs"),
        (_seconds(lane.seconds), "for all pairs" if finished else "worked"),
        (f"{rate:,.0f}", "pairs a second"),
    ]
    if not finished:
        counters.append((spoken(lane.total / rate) if rate else "–", "for all pairs, projected"))
    return _lane("Cross-encoder", "reads every pair", "cross", lane, counters, "Finished." if finished else "")


def _sbert_lane(state: RaceState, rate: float, ended: bool) -> str:
    lane = state.sbert
    finished = state.answer_seconds is not None
    waiting = "–" if ended else "…"
    counters = [
        (f"{lane.done:,}", f"of {lane.total:,} sentences"),
        (_seconds(state.answer_seconds or lane.seconds), "for the answer" if finished else "worked"),
        (f"{rate:,.0f}", "sentences a second"),
        (f"{pairs_of(lane.total):,}" if finished else waiting, "pairs compared"),
    ]
    answer = f"Finished: the most similar pair has cosine {state.closest.score:.3f}." if state.closest else ""
    return _lane("SBERT", "reads every sentence once", "sbert", lane, counters, answer)


def _lane(name: str, does: str, kind: str, state: LaneState, counters: Sequence[tuple[str, str]], answer: str) -> str:
    share = state.done / state.total if state.total else 0.0
    cells = "".join(f"<div><b>{escape(value)}</b><span>{escape(label)}</span></div>" for value, label in counters)
    note = f'<p class="lane-answer">{escape(answer)}</p>' if answer else ""
    return (
        f'<section class="lane {kind}"><h3>{name}<span>{does}</span></h3>'
        f'<div class="bar {kind}" role="progressbar" aria-label="{name}" aria-valuemin="0" aria-valuemax="100" '
        f'aria-valuenow="{share * 100:.1f}"><i style="width:{share * 100:.2f}%"></i></div>'
        f'<div class="counters">{cells}</div>{note}</section>'
    )


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
