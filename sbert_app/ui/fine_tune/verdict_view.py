"""Render a verdict: the result, what weakens it, its measures, whether more labels would help; and what to take home of a run."""

from dataclasses import replace

from markupsafe import Markup

from sbert_app.evaluation.metrics import needed_sentence
from sbert_app.evaluation.verdict import BETTER, LEAST_HELD_OUT, UNCLEAR, Change
from sbert_app.jobs.declaring.recipe import Input
from sbert_app.jobs.fine_tune.job import FINE_TUNE, options_of
from sbert_app.jobs.fine_tune.preparing import EXAMPLES
from sbert_app.runs.records import HeadAccuracy, LearningCurve, RunResult, RunState
from sbert_app.runs.result import harm_in_words, needed_for, warnings
from sbert_app.ui.fine_tune.view import run_title
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, commands, pictures, present, row
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
    "spearman": "Spearman: how well the cosines reproduce the order of the scores; 100 is perfect, 0 is chance.",
    "average_precision": "Average precision: how well cosines rank pairs that mean the same above the others; 100 is perfect.",
    "triplet_accuracy": "Triplet accuracy: the share of anchors closer to the positive than to the negative; 50 is chance.",
    "accuracy_at_1": "The share of sentences whose correct partner is the nearest of all held-out partners.",
}


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
    advice = [meaning, needed, "" if few else _curve(result.curve), *harm_in_words(result)]
    card = Markup(
        '<section class="verdict {kind}">{run}<div class="verdict-sides"><div><p class="word" id="verdict-word">{title}</p>'
        "{number}{advice}{warning}</div><div>{intervals}</div></div></section>"
    ).format(
        kind={BETTER: "better", UNCLEAR: "unclear"}.get(word, "worse"),
        run=run_title(run.info),
        title=title,
        number=HEADLINE.format(*both_sides(first), METRIC_NAMES[first.metric], count, *interval(first)),
        advice=Markup().join(Markup("<p>{}</p>").format(line) for line in advice if line),
        warning=Markup().join(map(Markup('<p class="caution">{}</p>').format, warnings(result))),
        intervals=_intervals(first),
    )
    return Markup('<div class="verdicts one">{}{}</div>').format(card, _details(run, result))


def both_sides(change: Change) -> list[str]:
    """A measure before and after, × 100."""
    return [times_100(side.value) for side in (change.before, change.after)]


def interval(change: Change) -> list[str]:
    """The change and the ends of its interval."""
    return [change_100(value) for value in (change.difference.value, change.difference.low, change.difference.high)]


def _details(run: RunState, result: RunResult) -> Markup:
    """All measures with p, the head's accuracy, the split and the conditions, in a fold."""
    rows, changes, split = [], result.verdict.changes, " ".join(run.separation.sentences())
    for c in changes:
        p = f"{c.p:.3f}" if c.p >= 0.001 else "< 0.001"
        rows.append((METRIC_NAMES[c.metric], *both_sides(c), "{} ({} to {})".format(*interval(c)), p))
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
    label = "{}: {} before, {} after".format(name, *both_sides(change))
    hint = html.hint(f"{name}, with 95 % intervals.")
    return Markup('<div role="img" aria-label="{}">{}</div>{}').format(label, Markup().join(rows), hint)


def _curve(curve: LearningCurve | None) -> str:
    if not curve:
        return ""
    gain = curve.change.difference
    at_half, at_all = both_sides(curve.change)
    from_half = f"From {curve.half:,} to {curve.whole:,} training examples, the measure changed from {at_half} to {at_all}"
    if gain.low > 0:
        return f"{from_half}. More labels would very likely help."
    if gain.value > 0.01:
        return f"{from_half}, which could be chance. More labels may help."
    return f"{from_half}. More labels of the same kind would probably change little."


def _head(head: HeadAccuracy | None) -> str:
    if not head:
        return ""
    return (
        f"The softmax head predicts the correct label for {100 * head.accuracy:.1f} % of the held-out pairs; "
        f"always predicting the most frequent label is correct for {100 * head.majority:.1f} %."
    )


def _conditions(result: RunResult, created: str) -> str:
    sizes = result.parts
    return (
        f"Measured on {created[:10]} on {result.device}: {sizes.train:,} training examples, "
        f"checkpoint of step {result.best_step:,} of {result.steps:,} chosen on {sizes.dev:,} other examples, "
        f"{duration(result.seconds)} of training, {result.pairs_per_second:,.0f} examples/s. "
        "Intervals and p: paired bootstrap, 2,000 resamples."
    )


def curve_links(run: RunState) -> Markup:
    """The links under the training curve."""
    return row(_caption("Training", run), [CURVE], pictures(CURVE, "sbert-studio-training"))


def spread_links(run: RunState) -> Markup:
    """The links under the scores before and after; the full screen shows the verdict above them."""
    about = _caption("Did training help? Held-out examples before and after", run)
    options, file = options_of(run), run.info.file
    source = Input(f"assets/labelled/{file}" if (EXAMPLES / file).is_file() else file)
    again = Markup() if options is None else commands(FINE_TUNE, options, source)  # no command can make every run again
    return row(about, [VERDICT, SPREAD], present(), pictures(SPREAD, "sbert-studio-scores"), again)


def _caption(title: str, run: RunState) -> Caption:
    info = run.info
    return Caption.of(title, f"run {info.name}", info.file, f"from {run.plan.base}", day=info.created[:10])
