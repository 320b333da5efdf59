"""How fine-tuning looks: what was read, what is going to happen, how far it is, and whether it got better."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from sbert_app.corpus.reader import plural, skipped_summary
from sbert_app.evaluation.verdict import BETTER, UNCLEAR
from sbert_app.services.fine_tune import Offer, Progress
from sbert_app.training.columns import KINDS
from sbert_app.training.examples import Examples
from sbert_app.training.objectives import OBJECTIVES
from sbert_app.training.plan import Plan
from sbert_app.training.probe import Estimate
from sbert_app.training.runs import FAILED, FINISHED, INTERRUPTED, RUNNING, STOPPED, WAITING, RunInfo
from sbert_app.ui.views import parts

METRIC_NAMES = {
    "spearman": "Spearman ×100",
    "pearson": "Pearson ×100",
    "average_precision": "Average precision, %",
    "accuracy": "Accuracy at the best threshold, %",
    "f1": "F1 at the best threshold, %",
    "triplet_accuracy": "Triplet accuracy, %",
    "accuracy_at_1": "Right partner found first, %",
}
WORDS = {
    BETTER: ("Better", "The change on examples it never saw is larger than chance explains."),
    UNCLEAR: ("No clear change", "On examples it never saw, the difference could be chance. Keep the model you had."),
}
WORSE = ("Worse: do not use it", "On examples it never saw, it ranks worse than the model you started from.")
STATES = {
    WAITING: "Waiting for its turn",
    RUNNING: "Training",
    INTERRUPTED: "Interrupted: the program ended in the middle. Resume goes on from the last checkpoint.",
    FINISHED: "Finished",
    STOPPED: "Stopped",
    FAILED: "Failed",
}
MOVERS = 5
FIRST_ROWS = 3


def step(number: int, title: str) -> str:
    """The heading of one of the four steps."""
    return f'<h2 class="step"><b aria-hidden="true">{number}</b>{escape(title)}</h2>'


def offer(offered: Offer) -> str:
    """What was read and how it is split."""
    reading, parted = offered.reading, offered.split
    examples = reading.examples
    count = len(examples)
    facts = [f"<b>{escape(reading.name)}</b>: {count:,} {plural(count, 'example', 'examples')}, {KINDS[examples.kind].lower()}"]
    if examples.kind == "scored":
        low, high = examples.score_range
        facts.append(f"scores {low:g} to {high:g}" + ("" if (low, high) == (0, 1) else ", rescaled to 0 to 1"))
    if examples.kind == "labelled":
        facts.append(_labels(examples))
    head = f'<p class="read">{" · ".join(facts)}</p>'
    return f"{head}{_split(offered)}{_first_rows(examples)}{parts.notes([*_leaks(parted), *reading.notes, *skipped_summary(reading.skipped)])}"


def _labels(examples: Examples) -> str:
    counts = Counter(examples.targets.astype(int).tolist())
    names = [f"{escape(label)} {counts[i]:,}" for i, label in enumerate(examples.labels)]
    return f"labels {', '.join(names)}; “the same” is <b>{escape(examples.labels[examples.positive])}</b>"


def _split(offered: Offer) -> str:
    parted = offered.split
    sizes = {
        "train": (len(parted.train), "to learn from"),
        "dev": (len(parted.dev), "to choose the checkpoint"),
        "held-out": (len(parted.held_out), "never seen, for the verdict"),
    }
    whole = sum(size for size, _ in sizes.values())
    segments = "".join(f'<i class="{name}" style="flex:{size}"></i>' for name, (size, _) in sizes.items())
    legend = "".join(f'<li class="{name}"><b>{size:,}</b> {why}</li>' for name, (size, why) in sizes.items())
    return f'<div class="split" role="img" aria-label="{whole:,} examples split in three">{segments}</div><ul class="split-legend">{legend}</ul>'


def _leaks(parted: Any) -> list[str]:
    lines = []
    if parted.leaks:
        lines.append(
            f"{parted.leaks:,} {plural(parted.leaks, 'example', 'examples')} left out: the same pair is in a part that judges. "
            "What was learnt by heart proves nothing."
        )
    if parted.shared:
        lines.append(f"{parted.shared:,} held-out {plural(parted.shared, 'sentence occurs', 'sentences occur')} in training too, in other pairs.")
    return lines


def _first_rows(examples: Examples) -> str:
    header = [*(["Anchor", "Positive", "Negative"] if examples.kind == "triplets" else ["First", "Second"])][: len(examples.sentences)]
    target = {"scored": "Score, 0 to 1", "labelled": "Label"}.get(examples.kind)
    rows = []
    for i in range(min(FIRST_ROWS, len(examples))):
        cells = [escape(parts.short(column[i], 120)) for column in examples.sentences]
        rows.append([*cells, *([_target(examples, i)] if target else [])])
    return f'<div class="first-rows">{parts.table([*header, *([target] if target else [])], rows)}</div>'


def _target(examples: Examples, place: int) -> str:
    if examples.kind == "labelled":
        return escape(examples.labels[int(examples.targets[place])])
    return f"{examples.targets[place]:.2f}"


def objective(name: str) -> str:
    """Where an objective comes from and when it is the better choice."""
    chosen = OBJECTIVES[name]
    source = "From the paper" if chosen.paper else "Newer than the paper"
    return f'<p class="hint"><b>{source}.</b> {escape(chosen.advice)}</p>'


def estimate(expected: Estimate, device: str) -> str:
    """How long it will take, and what that was measured on."""
    pieces = [f"training {parts.duration(expected.training)}", f"measuring {parts.duration(expected.evaluations)}"]
    if expected.learning_curve:
        pieces.append(f"learning curve {parts.duration(expected.learning_curve)}")
    return (
        f'<p class="estimate"><b>About {parts.duration(expected.seconds)}</b> on {escape(device)}: {", ".join(pieces)}. '
        f"Extrapolated from {expected.batches} batches timed just now, {expected.pairs_per_second:,.0f} examples/s.</p>"
    )


def live(progress: Progress) -> str:
    """How far the run is: bar, loss, dev score, rate, time left."""
    info = progress.info
    steps = [event for event in progress.events if event["type"] == "step"]
    evaluations = [event for event in progress.events if event["type"] == "evaluation"]
    if not steps:
        return parts.progress(0, 1, f"{info.name}: {STATES[info.state].lower()}. {info.message}".strip(), "Training")
    last = steps[-1]
    stage = STATES[info.state].split(":")[0]
    if progress.live and any(event["type"] == "kept" for event in progress.events):
        stage = "Stopped, measuring what was kept"
    elif progress.live and any(event["type"] == "curve" for event in progress.events):
        stage = "Learning curve: training on half of the examples"
    elif progress.live and last["step"] == last["steps"]:
        stage = "Measuring"
    facts = [f"{info.name} · {stage}", f"step {last['step']:,} of {last['steps']:,}", f"loss {last['loss']:.4f}"]
    if evaluations:
        best = max(evaluations, key=lambda event: float(event["score"]))
        facts.append(f"best on dev {100 * best['score']:.1f} at step {best['step']:,}")
    facts.append(f"{last['pairs_per_second']:,.0f} examples/s")
    if progress.live and last["step"] < last["steps"]:
        left = (last["steps"] - last["step"]) * last["seconds"] / max(1, last["step"])
        facts.append(f"{parts.duration(left)} left")
    text = " · ".join(facts)
    if not progress.live and info.message:
        text += f". {info.message}"
    return parts.progress(last["step"], last["steps"], text, "Training")


def verdict(progress: Progress, held_out: Examples) -> str:
    """The answer, what it rests on, the biggest movers, and whether more labels would help."""
    result = progress.result
    if result is None:
        return ""
    word = result["verdict"]["word"]
    title, meaning = WORDS.get(word, WORSE)
    kind = {BETTER: "better", UNCLEAR: "unclear"}.get(word, "worse")
    first = result["verdict"]["changes"][0]
    count = result["verdict"]["examples"]
    card = (
        f'<section class="verdict {kind}"><p class="eyebrow">Verdict on {count:,} held-out examples</p>'
        f'<p class="word" id="verdict-word">{title}</p><p>{meaning}</p>{_intervals(first)}</section>'
    )
    lines = [_curve(result.get("curve")), _head(result.get("head")), _honesty(result)]
    notes = "".join(f'<p class="hint">{escape(line)}</p>' for line in lines if line)
    return f'<div class="verdicts">{card}<section class="measures">{_measures(result["verdict"]["changes"])}{notes}</section></div>'


def _intervals(change: Mapping[str, Any]) -> str:
    """Before and after as points with their intervals on one scale."""
    sides = {"Before": change["before"], "After": change["after"]}
    low = min(-0.05 if any(s["low"] < 0 for s in sides.values()) else 0.0, *(s["low"] for s in sides.values()))
    span = max(1.0, *(s["high"] for s in sides.values())) - low

    def at(value: float) -> float:
        return 100 * (value - low) / span

    rows = "".join(
        f'<div class="interval {name.lower()}"><span>{name}</span><div class="track">'
        f'<i style="left:{at(s["low"]):.1f}%;width:{at(s["high"]) - at(s["low"]):.1f}%"></i>'
        f'<b style="left:{at(s["value"]):.1f}%"></b></div><em>{100 * s["value"]:.1f}</em></div>'
        for name, s in sides.items()
    )
    difference = change["difference"]
    spoken = f"{METRIC_NAMES[change['metric']]}: {100 * sides['Before']['value']:.1f} before, {100 * sides['After']['value']:.1f} after"
    return (
        f'<div role="img" aria-label="{escape(spoken)}">{rows}</div><p class="hint">{METRIC_NAMES[change["metric"]]}. '
        f"Change {_signed(difference['value'])}, 95 % interval {_signed(difference['low'])} to {_signed(difference['high'])}.</p>"
    )


def _measures(changes: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            escape(METRIC_NAMES[c["metric"]]),
            f"{100 * c['before']['value']:.1f}",
            f"{100 * c['after']['value']:.1f}",
            f"{_signed(c['difference']['value'])} ({_signed(c['difference']['low'])} to {_signed(c['difference']['high'])})",
            _p(c["p"]),
        )
        for c in changes
    ]
    return parts.table(("Measure", "Before", "After", "Change, 95 % interval", "p"), rows)


def _signed(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def _curve(curve: Mapping[str, Any] | None) -> str:
    if not curve:
        return ""
    change = curve["change"]
    gain = change["difference"]
    from_half = f"From {curve['half']:,} to {curve['whole']:,} training examples the measure went {100 * change['before']['value']:.1f} to {100 * change['after']['value']:.1f}"
    if gain["low"] > 0:
        return f"{from_half}: more labels would very likely help further."
    if gain["value"] > 0.01:
        return f"{from_half}, which could be chance: more labels may help."
    return f"{from_half}: more labels of the same kind would probably change little."


def _head(head: Mapping[str, float] | None) -> str:
    if not head:
        return ""
    return (
        f"The softmax head names the label of {100 * head['accuracy']:.1f} % of the held-out pairs; "
        f"always saying the most frequent one is right for {100 * head['majority']:.1f} %."
    )


def _honesty(result: Mapping[str, Any]) -> str:
    sizes = result["parts"]
    return (
        f"Measured on {result['device']}: {sizes['train']:,} examples learnt from, checkpoint of step {result['best_step']:,} of "
        f"{result['steps']:,} chosen on {sizes['dev']:,} others, {parts.duration(result['seconds'])} of training, "
        f"{result['pairs_per_second']:,.0f} examples/s. Intervals and p: paired bootstrap, 2,000 resamples."
    )


def movers(progress: Progress, held_out: Examples) -> str:
    """The held-out examples that moved most, towards what they are meant to be and away from it."""
    result = progress.result
    if result is None:
        return ""
    gains = np.array(result["gains"])
    order = np.argsort(-gains)
    right = [i for i in order[:MOVERS].tolist() if gains[i] > 0]
    wrong = [i for i in order[::-1][:MOVERS].tolist() if gains[i] < 0]
    tables = [
        f"<section><h3>{title}</h3>{_mover_table(held_out, result, places)}</section>"
        for title, places in (("Moved furthest in the right direction", right), ("Moved furthest in the wrong direction", wrong))
    ]
    records = [mover_record(held_out, result, i) for i in order.tolist()]
    return f'<div class="movers">{"".join(tables)}</div>{parts.downloads("held-out", records)}'


def _mover_table(held_out: Examples, result: Mapping[str, Any], places: Sequence[int]) -> str:
    if not places:
        return parts.empty("None.")
    rows = []
    for i in places:
        sentences = "<br>".join(f'<span dir="auto">{escape(parts.short(column[i], 160))}</span>' for column in held_out.sentences)
        cells = [sentences, f"{result['before'][i]:.2f} → {result['after'][i]:.2f}"]
        if held_out.kind in ("scored", "labelled"):
            cells.append(_target(held_out, i))
        rows.append(cells)
    score = "Lead" if held_out.kind in ("triplets", "positives") else "Cosine"
    return parts.table(("Sentences", score, *(["Meant to be"] if held_out.kind in ("scored", "labelled") else [])), rows)


def mover_record(held_out: Examples, result: Mapping[str, Any], place: int) -> dict[str, object]:
    """One held-out example as a flat row to save."""
    sentences = {f"sentence{k}": column[place] for k, column in enumerate(held_out.sentences, 1)}
    target = {"meant": _target(held_out, place)} if held_out.kind in ("scored", "labelled") else {}
    values = {name: round(float(result[name][place]), 4) for name in ("before", "after", "gains")}
    return {"row": int(held_out.rows[place]), **sentences, **target, **values}


def run_line(info: RunInfo) -> str:
    """One line of the list of runs."""
    return f"{info.name} · {info.state} · {info.created[:16]}"


def plan_line(plan: Plan) -> str:
    """A run's settings in one line."""
    o = plan.options
    facts = f"{OBJECTIVES[plan.objective].title}, {o.epochs} epochs, batch {o.batch_size}, learning rate {o.learning_rate:g}, seed {o.seed}"
    return f'<p class="hint">From {escape(plan.base)}: {escape(facts)}.</p>'
