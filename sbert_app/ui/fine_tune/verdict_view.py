"""Render a verdict: the result, its measures, the examples that changed most, and whether more labels would help."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from sbert_app.evaluation.verdict import BETTER, LEAST_HELD_OUT, UNCLEAR
from sbert_app.labelled.examples import Examples
from sbert_app.services.fine_tune import RunProgress
from sbert_app.ui.fine_tune.view import target
from sbert_app.ui.kit import html
from sbert_app.wording import duration

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
WORSE = ("Worse: do not use it", "On held-out examples it ranks worse than the model you started from.")
HELP = {
    "spearman": "Spearman: how well the cosines reproduce the order of the scores; 100 is perfect, 0 is chance.",
    "average_precision": "Average precision: how well cosines rank pairs that mean the same above the others; 100 is perfect.",
    "triplet_accuracy": "Triplet accuracy: the share of anchors closer to the positive than to the negative; 50 is chance.",
    "accuracy_at_1": "The share of sentences whose correct partner is the nearest of all held-out partners.",
}
RANKED = "Changes are measured by rank among the held-out pairs, because the cosines of two models are not on one scale."
MARGIN = "Margin: cosine to the positive minus cosine to the negative (or to the nearest other); above 0 is correct."
MOVERS = 5  # examples listed for each direction


def verdict(progress: RunProgress) -> Markup:
    """The verdict, its measures, and whether more labels would help."""
    result = progress.result
    if result is None:
        return Markup()
    word, count, first = result["verdict"]["word"], result["verdict"]["examples"], result["verdict"]["changes"][0]
    few = count < LEAST_HELD_OUT
    title, meaning = TOO_FEW if few else WORDS.get(word, WORSE)
    kind = {BETTER: "better", UNCLEAR: "unclear"}.get(word, "worse")
    card = Markup(
        '<section class="verdict {kind}"><p class="eyebrow">Verdict on {count:,} held-out examples</p>'
        '<p class="word" id="verdict-word">{title}</p><p>{meaning}</p>{intervals}</section>'
    ).format(kind=kind, count=count, title=title, meaning=meaning, intervals=_intervals(first))
    curve = "" if few else _curve(result.get("curve"))
    lines = [HELP[first["metric"]], curve, _head(result.get("head")), _conditions(result, progress.info.created)]
    measures = Markup().join([_measures(result["verdict"]["changes"]), *(html.hint(line) for line in lines if line)])
    return Markup('<div class="verdicts">{}<section class="measures">{}</section></div>').format(card, measures)


def _intervals(change: Mapping[str, Any]) -> Markup:
    """Before and after as points with intervals on one scale."""
    sides = {"Before": change["before"], "After": change["after"]}
    low = min(-0.05 if any(s["low"] < 0 for s in sides.values()) else 0.0, *(s["low"] for s in sides.values()))
    span = max(1.0, *(s["high"] for s in sides.values())) - low

    def percent(value: float) -> float:
        return float(100 * (value - low) / span)

    row = Markup(
        '<div class="interval {}"><span>{}</span><div class="track"><i style="left:{:.1f}%;width:{:.1f}%"></i>'
        '<b style="left:{:.1f}%"></b></div><em>{}</em></div>'
    )
    rows = []
    for side, s in sides.items():
        left, right, point = (percent(s[key]) for key in ("low", "high", "value"))
        rows.append(row.format(side.lower(), side, left, right - left, point, _number(s["value"])))
    difference, name = change["difference"], METRIC_NAMES[change["metric"]]
    label = f"{name}: {100 * sides['Before']['value']:.1f} before, {100 * sides['After']['value']:.1f} after"
    mean, least, most = (_signed(difference[key]) for key in ("value", "low", "high"))
    hint = html.hint(f"{name}. Change {mean}, 95 % interval {least} to {most}.")
    return Markup('<div role="img" aria-label="{}">{}</div>{}').format(label, Markup().join(rows), hint)


def _measures(changes: Sequence[Mapping[str, Any]]) -> Markup:
    rows = [
        (
            METRIC_NAMES[c["metric"]],
            _number(c["before"]["value"]),
            _number(c["after"]["value"]),
            f"{_signed(c['difference']['value'])} ({_signed(c['difference']['low'])} to {_signed(c['difference']['high'])})",
            _p(c["p"]),
        )
        for c in changes
    ]
    return html.table(("Measure", "Before", "After", "Change, 95 % interval", "p"), rows)


def _signed(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", "−")


def _number(value: float) -> str:
    return f"{round(100 * value, 1) + 0.0:.1f}".replace("-", "−")


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _curve(curve: Mapping[str, Any] | None) -> str:
    if not curve:
        return ""
    change = curve["change"]
    gain = change["difference"]
    at_half, at_all = (f"{100 * change[side]['value']:.1f}" for side in ("before", "after"))
    from_half = f"From {curve['half']:,} to {curve['whole']:,} training examples, the measure changed from {at_half} to {at_all}"
    if gain["low"] > 0:
        return f"{from_half}. More labels would very likely help."
    if gain["value"] > 0.01:
        return f"{from_half}, which could be chance. More labels may help."
    return f"{from_half}. More labels of the same kind would probably change little."


def _head(head: Mapping[str, float] | None) -> str:
    if not head:
        return ""
    return (
        f"The softmax head predicts the correct label for {100 * head['accuracy']:.1f} % of the held-out pairs; "
        f"always predicting the most frequent label is correct for {100 * head['majority']:.1f} %."
    )


def _conditions(result: Mapping[str, Any], created: str) -> str:
    sizes = result["parts"]
    pieces = [
        f"Measured on {created[:10]} on {result['device']}: {sizes['train']:,} training examples",
        f"checkpoint of step {result['best_step']:,} of {result['steps']:,} chosen on {sizes['dev']:,} other examples",
        f"{duration(result['seconds'])} of training, {result['pairs_per_second']:,.0f} examples/s.",
    ]
    return f"{', '.join(pieces)} Intervals and p: paired bootstrap, 2,000 resamples."


def movers(progress: RunProgress, held_out: Examples) -> Markup:
    """Tables of the held-out examples that changed most, for the better and for the worse, with downloads."""
    result = progress.result
    if result is None:
        return Markup()
    gains = np.array(result["gains"])
    order = np.argsort(-gains)
    improved = [i for i in order[:MOVERS].tolist() if gains[i] > 0]
    worsened = [i for i in order[::-1][:MOVERS].tolist() if gains[i] < 0]
    tables = [
        Markup("<section><h3>{}</h3>{}</section>").format(title, _mover_table(held_out, result, indices))
        for title, indices in (("Improved most", improved), ("Worsened most", worsened))
    ]
    records = [mover_record(held_out, result, i) for i in order.tolist()]
    explained = html.hint(RANKED if held_out.gold.any() else MARGIN)
    return Markup('<div class="movers">{}</div>{}{}').format(Markup().join(tables), explained, html.downloads("held-out", records))


def _mover_table(held_out: Examples, result: Mapping[str, Any], indices: Sequence[int]) -> Markup:
    if not indices:
        return html.empty("None.")
    rows = []
    for i in indices:
        sentences = (Markup('<span dir="auto">{}</span>').format(html.short(column[i], 160)) for column in held_out.sentences)
        cells = [Markup("<br>").join(sentences), f"{result['before'][i]:.2f} → {result['after'][i]:.2f}"]
        if held_out.kind in ("scored", "labelled"):
            cells.append(target(held_out, i))
        rows.append(cells)
    score = "Margin" if held_out.kind in ("triplets", "positives") else "Cosine"
    return html.table(("Sentences", score, *(["Target"] if held_out.kind in ("scored", "labelled") else [])), rows)


def mover_record(held_out: Examples, result: Mapping[str, Any], index: int) -> dict[str, object]:
    """A held-out example as a flat record for export."""
    sentences = {f"sentence{k}": column[index] for k, column in enumerate(held_out.sentences, 1)}
    meant = {"meant": target(held_out, index)} if held_out.kind in ("scored", "labelled") else {}
    values = {name: round(float(result[name][index]), 4) for name in ("before", "after", "gains")}
    return {"row": int(held_out.rows[index]), **sentences, **meant, **values}
