"""Render the table of runs, from which one is chosen, and the question before one is deleted."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.runs.run import DAMAGED, RunInfo
from sbert_app.runs.runs import RunOverview
from sbert_app.ui.fine_tune.verdict_view import METRIC_NAMES, TOO_FEW
from sbert_app.ui.fine_tune.view import STATES
from sbert_app.ui.kit import html
from sbert_app.wording import change_100, times_100

HEADER = ("Run", "State", "Verdict", "Before → after", "Created", "Base model", "On disk")
NO_RUNS = "No runs yet. The first one starts in step 2."
ROW = Markup(
    '<tr><th scope="row"><label><input type="radio" name="fine-tune-run" value="{id}"{checked}> <span>{name}</span></label></th>'
    "{cells}</tr>"
)
CELL = Markup('<td data-label="{}">{}</td>')


def table(runs: Sequence[RunOverview], chosen: str = "") -> Markup:
    """One row for each run, newest first, with a radio button that chooses it."""
    if not runs:
        return html.empty(NO_RUNS)
    head = Markup().join(Markup('<th scope="col">{}</th>').format(title) for title in HEADER)
    rows = Markup().join(_row(run, chosen) for run in runs)
    caption = Markup('<caption class="hint">Choose a run, then what to do with it.</caption>')
    return Markup('<table class="plain runs">{}<thead><tr>{}</tr></thead><tbody>{}</tbody></table>').format(caption, head, rows)


def _row(run: RunOverview, chosen: str) -> Markup:
    info = run.info
    state = "Damaged: delete it" if info.state == DAMAGED else STATES[info.state].split(":")[0]
    few = run.change is not None and run.examples < LEAST_HELD_OUT
    word = TOO_FEW[0] if few else run.word.capitalize()
    texts = (state, word, _scores(run.change), info.created[:16], run.base, f"{run.nbytes / 1e6:,.1f} MB")
    cells = Markup().join(CELL.format(label, text or "–") for label, text in zip(HEADER[1:], texts, strict=True))
    checked = Markup(" checked") if info.id == chosen else ""
    return ROW.format(id=info.id, checked=checked, name=info.name, cells=cells)


def _scores(change: Mapping[str, Any] | None) -> Markup:
    """The first measure before and after, and the interval of the change."""
    if change is None:
        return Markup()
    gained, least, most = (change_100(change["difference"][key]) for key in ("value", "low", "high"))
    return Markup("<b>{} → {}</b> <small>{}, change {} (95 % interval {} to {})</small>").format(
        times_100(change["before"]["value"]),
        times_100(change["after"]["value"]),
        METRIC_NAMES[change["metric"]],
        gained,
        least,
        most,
    )


def chosen(info: RunInfo | None) -> Markup:
    """The run that the buttons act on."""
    return html.hint(Markup("Chosen: <b>{}</b>, {}.").format(info.name, info.created[:16])) if info else Markup()


def question(info: RunInfo) -> Markup:
    """Ask before a run is deleted for good."""
    return Markup(
        '<p class="question" role="alert">Delete the run <b>{}</b> of {}? Its model, curve and verdict are deleted for good. '
        "A model that you saved under a name stays.</p>"
    ).format(info.name, info.created[:16])


def deleted(name: str) -> Markup:
    """Confirm that a run was deleted."""
    return html.status(f"The run {name} is deleted.")
