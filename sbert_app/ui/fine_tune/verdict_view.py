"""Render a verdict: the result, what weakens it, its measures, whether more labels would help, which examples changed most."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from sbert_app.evaluation.agreement import MARGINS, gains, rank_shares
from sbert_app.evaluation.metrics import needed_sentence, resamples_for
from sbert_app.evaluation.verdict import BETTER, LEAST_HELD_OUT, UNCLEAR, Change
from sbert_app.jobs.fine_tune import job, preparing
from sbert_app.labelled.example_set import Examples
from sbert_app.runs.records import HeadAccuracy, LearningCurve, RunResult, RunState
from sbert_app.runs.result import against_in_words, below_start, harm_in_words, needed_for, tried_in_words, warnings
from sbert_app.ui.fine_tune.view import run_title, target
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, Input, commands, pictures, present, row
from sbert_app.vectors import Array
from sbert_app.wording import change_100, duration, times_100

VERDICT, CURVE, SPREAD = "verdict", "run-curve", "distributions"  # the elements of the verdict and the charts
METRIC_NAMES = {
    "spearman": "Spearman ×100",
    "pearson": "Pearson ×100",
    "average_precision": "Average precision, %",
    "accuracy": "Accuracy at the best threshold, %",
    "f1": "F1 at the best threshold, %",
    "triplet_accuracy": "Triplet accuracy, %",
    "accuracy_at_1": "Correct partner ranked first, %",
}
WORDS = {
    BETTER: ("Better", "The change on held-out examples is larger than chance explains."),
    UNCLEAR: ("No clear change", "The change on held-out examples could be chance. Keep the previous model."),
}
TOO_FEW = ("Too few examples to judge", "Upload at least 100 rows.")
HEADLINE = Markup('<p class="headline"><b>{} → {}</b> {}</p><p>{:,} held-out examples. Change {}, 95 % interval {} to {}.</p>')
WORSE = ("Worse: do not use it", "On held-out examples it ranks worse than the model you started from.")
HELP = {
    "spearman": "Spearman: how well the scores reproduce the order of those in the data; 100 is perfect, 0 is chance.",
    "average_precision": "Average precision: how well the scores rank pairs that mean the same above the others; 100 is perfect.",
    "triplet_accuracy": "Triplet accuracy: the share of anchors closer to the positive than to the negative; 50 is chance.",
    "accuracy_at_1": "The share of sentences whose correct partner is the nearest of all held-out partners.",
}
RANKED = (
    "Closer than: the share of the held-out pairs with a lower score, because the scores of two models are not on one scale. {} "
    "Scores are in the files."
)
IMPROVED = {
    "scored": "Improved: nearer to the share of the pairs with a lower target, which stands beside the target.",
    "labelled": "Improved: “{}” pairs rose, other pairs fell.",
}
MARGIN = "Margin: cosine to the positive minus cosine to the negative (or to the nearest other); above 0 is correct."
MOVERS = 5  # examples listed for each direction


def verdict(run: RunState) -> Markup:
    """The verdict with its one number, what weakens it, and all other measures folded away."""
    if run.result is None:
        return Markup()
    result = replace(run.result, shared=run.shared)  # which results of older versions do not have
    word, count, first = result.verdict.word, result.verdict.examples, result.verdict.changes[0]
    few = count < LEAST_HELD_OUT
    title, meaning = TOO_FEW if few else WORDS.get(word, WORSE)
    noun = "triplets" if run.kind == "triplets" else "pairs"
    needed = needed_sentence(needed_for(result.verdict), count, first.difference.value, noun)
    advice = [meaning, needed, below_start(run), "" if few else _curve(result.curve), against_in_words(result)]
    advice += [*harm_in_words(result), tried_in_words(result)]
    card = Markup(
        '<section class="verdict {kind}">{run}<div class="verdict-sides"><div>'
        '<p class="word" id="verdict-word" role="status">{title}</p>'
        "{number}{advice}{warning}</div><div>{intervals}</div></div></section>"
    ).format(
        kind={BETTER: "better", UNCLEAR: "unclear"}.get(word, "worse"),
        run=run_title(run.info),
        title=title,
        number=HEADLINE.format(*first.sides, METRIC_NAMES[first.metric], count, *first.interval),
        advice=Markup().join(Markup("<p>{}</p>").format(line) for line in advice if line),
        warning=Markup().join(map(Markup('<p class="caution">{}</p>').format, warnings(result))),
        intervals=_intervals(first),
    )
    return Markup('<div class="verdicts one">{}{}</div>').format(card, _details(run, result))


def _details(run: RunState, result: RunResult) -> Markup:
    """All measures with p, the head's accuracy, the split and the conditions, in a fold."""
    rows, changes, split = [], result.verdict.changes, " ".join(run.separation.sentences())
    for c in changes:
        p = f"{c.p:.3f}" if c.p >= 0.001 else "< 0.001"
        rows.append((METRIC_NAMES[c.metric], *c.sides, "{} ({} to {})".format(*c.interval), p))
    lines = [HELP[changes[0].metric], _head(result.head), split, _conditions(result, run.info.created)]
    table = html.table(("Measure", "Before", "After", "Change, 95 % interval", "p"), rows)
    content = Markup().join([table, *(html.hint(line) for line in lines if line)])
    return Markup('<details class="measures"><summary>Details</summary><div>{}</div></details>').format(content)


def _intervals(change: Change) -> Markup:
    """Before and after as points with intervals on one scale."""
    sides = {"Before": change.before, "After": change.after}
    low = min(-0.05 if any(s.low < 0 for s in sides.values()) else 0.0, *(s.low for s in sides.values()))
    span = max(1.0, *(s.high for s in sides.values())) - low
    line = Markup(
        '<div class="interval {}"><span>{}</span><div class="track"><i style="left:{:.1f}%;width:{:.1f}%"></i>'
        '<b style="left:{:.1f}%"></b></div><em>{}</em></div>'
    )
    rows = []
    for side, s in sides.items():
        left, right, point = (100 * (value - low) / span for value in (s.low, s.high, s.value))
        rows.append(line.format(side.lower(), side, left, right - left, point, times_100(s.value)))
    name = METRIC_NAMES[change.metric]
    label = "{}: {} before, {} after".format(name, *change.sides)
    hint = html.hint(f"{name}, with 95 % intervals.")
    return Markup('<div role="img" aria-label="{}">{}</div>{}').format(label, Markup().join(rows), hint)


def _curve(curve: LearningCurve | None) -> str:
    if not curve:
        return ""
    gain, (at_half, at_all) = curve.change.difference, curve.change.sides
    from_half = f"From {curve.half:,} to {curve.whole:,} training examples, the measure changed from {at_half} to {at_all}"
    from_half += f" (95 %: {change_100(gain.low)} to {change_100(gain.high)})"
    if gain.low > 0:
        return f"{from_half}. More labels would very likely help."
    if gain.value > 0.01:
        return f"{from_half}, which could be chance. More labels may help."
    if gain.high > 0.02:
        return f"{from_half}. Whether more labels would help cannot be told from so few held-out examples."
    return f"{from_half}. More labels of the same kind would probably change little."


def _head(head: HeadAccuracy | None) -> str:
    if not head:
        return ""
    usual = f"always predicting the most frequent label is correct for {100 * head.majority:.1f} %"
    return f"The softmax head predicts the correct label for {100 * head.accuracy:.1f} % of the held-out pairs; {usual}."


def _conditions(result: RunResult, created: str) -> str:
    sizes = result.parts
    return (
        f"Measured on {created[:10]} on {result.device}: {sizes.train:,} training examples, "
        f"checkpoint of step {result.best_step:,} of {result.steps:,} chosen on {sizes.dev:,} other examples, "
        f"{duration(result.seconds)} of training, {result.pairs_per_second:,.0f} examples/s. "
        f"Intervals and p: paired bootstrap, {resamples_for(sizes.held_out):,} resamples."
    )


def movers(held_out: Examples, before: Sequence[float], after: Sequence[float]) -> Markup:
    """Tables of the held-out examples that changed most, for the better and for the worse, with downloads."""
    records = _records(held_out, np.array(before), np.array(after))
    improved, worsened = [r for r in records if r["gain"] > 0], [r for r in reversed(records) if r["gain"] < 0]
    section, moved = Markup("<section><h3>{}</h3>{}</section>"), {"Improved most": improved, "Worsened most": worsened}
    tables = Markup().join(section.format(title, _mover_table(held_out, rows[:MOVERS])) for title, rows in moved.items())
    positive = held_out.labels[held_out.positive] if held_out.labels else ""
    explained = MARGIN if held_out.kind in MARGINS else RANKED.format(IMPROVED[held_out.kind].format(positive))
    return Markup('<div class="movers">{}</div>{}{}').format(tables, html.hint(explained), html.downloads("held-out", records))


def _mover_table(held_out: Examples, records: Sequence[Mapping[str, Any]]) -> Markup:
    if not records:
        return html.empty("None.")
    shown = "{before:.2f} → {after:.2f}" if held_out.kind in MARGINS else "{rank_before:.0%} → {rank_after:.0%}"
    meant = {"scored": "{meant}: {rank_meant:.0%}", "labelled": "{meant}"}.get(held_out.kind)
    rows = []
    for record in records:
        sentences = (html.short(record[f"sentence{k}"], 160) for k in range(1, len(held_out.sentences) + 1))
        formats = (text.format(**record).replace("%", " %") for text in (shown, meant) if text)
        rows.append([Markup("<br>").join(map(Markup('<span dir="auto">{}</span>').format, sentences)), *formats])
    return html.table(("Sentences", "Margin" if held_out.kind in MARGINS else "Closer than", *(["Target"] if meant else [])), rows)


def _records(held_out: Examples, before: Array, after: Array) -> list[dict[str, Any]]:
    """The held-out examples as flat records for export, most improved first. rank_…: shares of the examples that rank below."""
    values = {"before": before, "after": after, "gain": gains(held_out.kind, before, after, held_out.gold)}
    if held_out.kind not in MARGINS:
        values |= {"rank_before": rank_shares(before), "rank_after": rank_shares(after)}
    if held_out.kind == "scored":
        values["rank_meant"] = rank_shares(held_out.gold)
    records = []
    for i in np.argsort(-values["gain"], kind="stable").tolist():
        sentences = {f"sentence{k}": column[i] for k, column in enumerate(held_out.sentences, 1)}
        meant = {} if held_out.kind in MARGINS else {"meant": target(held_out, i)}
        numbers = {name: round(float(column[i]), 4) for name, column in values.items()}
        records.append({"row": int(held_out.rows[i]), **sentences, **meant, **numbers})
    return records


def curve_links(run: RunState) -> Markup:
    return row(_caption("Training", run), [CURVE], pictures(CURVE, "sbert-studio-training"))


def spread_links(run: RunState) -> Markup:
    """The links under the scores before and after; the full screen shows the verdict above them."""
    about = _caption("Did training help? Held-out examples before and after", run)
    options, file = job.options_of(run), run.info.file
    source = Input(f"assets/labelled/{file}" if (preparing.EXAMPLES / file).is_file() else file)
    again = Markup() if options is None else commands(job.FINE_TUNE, options, source)  # no command can make every run again
    return row(about, [VERDICT, SPREAD], present(), pictures(SPREAD, "sbert-studio-scores"), again)


def _caption(title: str, run: RunState) -> Caption:
    info = run.info
    return Caption.of(title, f"run {info.name}", info.file, f"from {run.plan.base}", day=info.created[:10])
