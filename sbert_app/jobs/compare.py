"""The job compare: is one encoder worse than another, on a file and on everyday pairs? A gate for scripts."""

import math
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import LEAST_HELD_OUT, WORSE, Verdict, judge, predict
from sbert_app.grid.loading import embedding
from sbert_app.grid.reading import read_pairs
from sbert_app.grid.result import SEEN, SEEN_SHARE
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.jobs.declaring.option import number, option, text, upload
from sbert_app.labelled.example_set import seen_by, trained_on
from sbert_app.labelled.examples import general_pairs
from sbert_app.step import Step
from sbert_app.tables import Table
from sbert_app.wording import amount

GENERAL = "everyday pairs"


@dataclass(frozen=True)
class CompareOptions:
    before: str = option(
        "The encoder to compare with: bundled, saved, or a Hub name; see `models`.", text("encoder to compare with")
    )
    after: str = option("The encoder in question.", text("encoder in question"))
    on: Table | None = option("Labelled pairs or triplets to compare on, besides 120 everyday pairs.", upload(), None)
    fail_below: float | None = option(
        "Also fail where the first measure × 100 changes by less than this, on either, -100 to 100, such as -0.5.",
        number("lowest change", -100, 100), None,
    )  # fmt: skip


def compare(call: Call, options: CompareOptions) -> Steps:
    """Compare two encoders on labelled pairs or triplets, and on everyday pairs. In the shell, exit status 1 if it fails.

    It fails where the second encoder is worse than chance explains (the 95 % interval of the change, by a paired bootstrap, lies
    below zero), and where the change is below `fail_below`. Fewer than 20 examples are refused: they could show neither.

    Returns:
        passed, failed (on which data sets), and for each data set: verdict, examples, and by measure before, after, change, its
        interval and p, as fractions; notes (how the file was read, and which model was trained on it).
    """
    bench = call.bench
    data, notes = {GENERAL: general_pairs()}, list[str]()
    if options.on is not None:
        labelled = read_pairs(options.on, bench.settings.limits)
        if labelled.size < LEAST_HELD_OUT:
            few = f"'{options.on.name}' has {amount(labelled.size, 'example')}"
            raise UserError(f"{few}, at least {LEAST_HELD_OUT} are needed to tell whether a model is worse.")
        data, notes = {options.on.name: labelled.examples} | data, [*labelled.notes]
    encoders = [bench.registry.encoder(name) for name in (options.before, options.after)]
    for name, examples in data.items():
        known = {encoder.name: seen_by(trained_on(encoder.folder), examples) for encoder in encoders}
        notes += [
            SEEN.format(model, seen, len(examples), name) for model, seen in known.items() if seen > SEEN_SHARE * len(examples)
        ]
    yield from map(Step, notes)
    sides = [(embedding(bench, encoder, call.stop.tick), encoder.similarity) for encoder in encoders]
    with bench.lines.corpora.join(call.stop) as waiting:
        deque(waiting, maxlen=0)
        verdicts = {}
        for name, examples in data.items():
            yield Step(f"Comparing on {len(examples):,} examples of {name}")
            before, after = (
                predict(examples.kind, [embed(c) for c in examples.sentences], similarity) for embed, similarity in sides
            )
            verdicts[name] = judge(examples.kind, before, after, examples.gold)
    least = -math.inf if options.fail_below is None else options.fail_below
    failed = [n for n, verdict in verdicts.items() if verdict.word == WORSE or 100 * verdict.changes[0].difference.value < least]
    facts = {name: _facts(verdict) for name, verdict in verdicts.items()}
    summary = {"passed": not failed, "failed": failed, **facts, "notes": notes}
    lines = [_line(name, verdict) for name, verdict in verdicts.items()]
    limit = "" if options.fail_below is None else f", or changed by less than {least:+g}"
    ending = f"Failed on {' and '.join(failed)}: worse{limit}." if failed else "Passed."
    yield Outcome(summary, [f"{options.before} -> {options.after}", *lines, ending], failed=bool(failed))


def _facts(verdict: Verdict) -> dict[str, Any]:
    measures = {
        each.metric: {"before": each.before.value, "after": each.after.value, "change": asdict(each.difference), "p": each.p}
        for each in verdict.changes
    }
    return {"verdict": verdict.word, "examples": verdict.examples, **measures}


def _line(name: str, verdict: Verdict) -> str:
    first = verdict.changes[0]
    values = (first.before.value, first.after.value, first.difference.value, first.difference.low, first.difference.high)
    figures = "{:.2f} -> {:.2f}, change {:+.2f} ({:+.2f} to {:+.2f})".format(*(100 * value for value in values))
    return f"{name}: {first.metric} {figures}, {verdict.examples:,} examples: {verdict.word}"


COMPARE = Job("compare", Needs.NOTHING, CompareOptions, compare, "compare")
