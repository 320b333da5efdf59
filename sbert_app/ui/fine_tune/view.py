"""Render fine-tuning: training data, plan, estimated time, live progress, and runs."""

from collections import Counter

import numpy as np
from markupsafe import Markup

from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.jobs.fine_tune.preparing import TrainingData
from sbert_app.labelled.columns import KINDS
from sbert_app.labelled.example_set import Examples, shared_warning
from sbert_app.runs import records
from sbert_app.runs.plan import Plan, TrainingEstimate, cut_warning
from sbert_app.runs.result import dev_warning
from sbert_app.tables import skipped_summary
from sbert_app.training.options import OBJECTIVES
from sbert_app.ui.kit import html
from sbert_app.wording import amount, duration, times_100

STATES = {
    records.WAITING: "Waiting for its turn",
    records.RUNNING: "Training",
    records.INTERRUPTED: "Interrupted: the program ended during training. Resume continues from the last checkpoint.",
    records.FINISHED: "Finished",
    records.STOPPED: "Stopped",
    records.FAILED: "Failed",
    records.DAMAGED: "Damaged",
}
STEP = Markup('<h2 class="step"><b aria-hidden="true">{}</b>{}</h2>')
REFUSED = Markup('<p class="refused" role="alert"><b>{}</b> was not loaded. {}</p>')  # a file; the previous data stays
MESSAGE = Markup('<p class="read" role="status">{}</p>')
ANNOUNCED = Markup('<span role="status">{}</span>')  # by a screen reader when it changes, unlike the counts beside it
FIRST_ROWS = 3
LABELS_LENGTH, NAME_LENGTH = 60, 40  # characters of the labels in a line, of a model's name on a button
NO_DATA = "Nothing to train on yet. Choose an example, upload a file or label pairs. A meaningful verdict needs about 100 rows."
LEAKS = "{} removed, because the same pair is in the dev or held-out part."
FEW = "Only {} held-out examples. Too few examples to judge. Upload at least 100 rows."
ESTIMATING = Markup('<p class="estimate">Timing a few batches to estimate the duration …</p>')
TRIES = (
    "The preset chooses. “Best for my data”: each objective that fits is trained for a short time; the first is trained to the "
    "end, or another whose dev score is a point better. The mean of its last weights is kept."
)


def data_line(data: TrainingData) -> str:
    """What was read, in the line that opens and closes the step."""
    examples, target = data.reading.examples, data.mapping.target
    parts = [data.reading.name, f"{len(examples):,} {KINDS[examples.kind].lower()}"]
    if examples.kind == "labelled":
        labels = f"{target}: {', '.join(examples.labels)}; {examples.labels[examples.positive]} means the same"
        parts.append(html.short(labels, LABELS_LENGTH))
    if examples.kind == "scored":
        parts.append(html.short("{}: {:g} to {:g}".format(target, *sorted(examples.score_range)), LABELS_LENGTH))
    return " · ".join([*parts, "Change"])


def data_notes(data: TrainingData) -> Markup:
    """What to mind of the data, in sight when it is folded."""
    reading, split = data.reading, data.split
    few = FEW.format(len(split.held_out)) if len(split.held_out) < LEAST_HELD_OUT else ""
    gone = LEAKS.format(amount(split.leaks, "example")) if split.leaks else ""
    return html.notes([few, gone, shared_warning(split.shared), *reading.notes, *skipped_summary(reading.skipped)])


def training_data(data: TrainingData) -> Markup:
    """What was read, and how it is split."""
    reading, split = data.reading, data.split
    examples = reading.examples
    facts = [f"{amount(len(examples), 'example')}, {KINDS[examples.kind].lower()}"]
    if examples.kind == "scored":
        low, high = sorted(examples.score_range)
        facts.append(f"scores {low:g} to {high:g}" + ("" if (low, high) == (0, 1) else ", rescaled to 0 to 1"))
    if examples.kind == "labelled":
        counts = Counter(examples.targets.astype(int).tolist())
        sizes = ", ".join(f"{counts[i]:,} × label {label}" for i, label in enumerate(examples.labels))
        facts.append(Markup("{}; “same meaning” is <b>{}</b>").format(sizes, examples.labels[examples.positive]))
    head = Markup('<p class="read"><b>{}</b>: {}</p>').format(reading.name, Markup(" · ").join(facts))
    return Markup().join([head, _first_rows(examples), _split(data), html.hint(" ".join(split.separation.sentences()))])


def _split(data: TrainingData) -> Markup:
    split = data.split
    dev, held_out = (f", from {part.name}" if part else "" for part in (data.choice.dev, data.choice.held_out))
    sizes = {
        "train": (len(split.train), "for training"),
        "dev": (len(split.dev), f"for choosing the checkpoint{dev}"),
        "held-out": (len(split.held_out), f"held out for the verdict{held_out}"),
    }
    total = sum(size for size, _ in sizes.values())
    segments = (Markup('<i class="{}" style="flex:{}"></i>').format(name, size) for name, (size, _) in sizes.items())
    legend = (Markup('<li class="{}"><b>{:,}</b> {}</li>').format(name, size, use) for name, (size, use) in sizes.items())
    bar = Markup('<div class="split" role="img" aria-label="{:,} examples split in three">{}</div>')
    return bar.format(total, Markup().join(segments)) + Markup('<ul class="split-legend">{}</ul>').format(Markup().join(legend))


def _first_rows(examples: Examples) -> Markup:
    header = ["Anchor", "Positive", "Negative"] if examples.kind == "triplets" else ["First", "Second"]
    last = {"scored": "Score, 0 to 1", "labelled": "Label"}.get(examples.kind)
    rows = [
        [*(html.short(column[i], 120) for column in examples.sentences), *([target(examples, i)] if last else [])]
        for i in range(min(FIRST_ROWS, len(examples)))
    ]
    return Markup('<div class="first-rows">{}</div>').format(html.table([*header, *([last] if last else [])], rows))


def target(examples: Examples, index: int) -> str:
    """An example's target: its label, or its score scaled to 0..1."""
    value = examples.targets[index]
    return examples.labels[int(value)] if examples.kind == "labelled" else f"{value:.2f}"


def objective(name: str) -> Markup:
    """An objective's source, and when to choose it; for "" what is done to choose one."""
    if not name:
        return html.hint(TRIES)
    described = OBJECTIVES[name]
    source = "From the paper" if described.paper else "Newer than the paper"
    return html.hint(Markup("<b>{}.</b> {}").format(source, described.advice))


def estimate(expected: TrainingEstimate, device: str) -> Markup:
    pieces = [f"training {duration(expected.training)}", f"evaluation {duration(expected.evaluations)}"]
    if expected.learning_curve:
        pieces.append(f"learning curve {duration(expected.learning_curve)}")
    timed = f"Extrapolated from {expected.batches} batches timed just now, {expected.pairs_per_second:,.0f} examples/s."
    return Markup('<p class="estimate"><b>About {}</b> on {}: {}. {} {}</p>').format(
        duration(expected.seconds), device, ", ".join(pieces), timed, cut_warning(expected.cut)
    )


def live(run: records.RunState) -> Markup:
    """Progress of a run: bar, loss, dev score, rate, remaining time."""
    info, losses, scores, before = run.info, run.of(records.Loss), run.of(records.DevScore), run.of(records.Baseline)
    stage = STATES[info.state].split(":")[0]
    if not losses:
        tried = [f"{OBJECTIVES[event.objective].title} {times_100(event.score)}" for event in run.of(records.Tried)]
        if info.live and run.plan.tries:
            line = f"Trying objectives, dev score: {', '.join(tried) or 'none yet'}"
            return html.progress(len(tried), len(run.plan.tries), line, "Training")
        return html.progress(0, 1, ANNOUNCED.format(f"{STATES[info.state].rstrip('.')}. {info.message}".strip()), "Training")
    last = losses[-1]
    if info.live and run.of(records.Kept):
        stage = "Stopped, evaluating the best checkpoint"
    elif info.live and run.of(records.CurveBegun):
        stage = "Learning curve: training on half of the examples"
    elif info.live and last.step == last.steps:
        stage = "Evaluating"
    facts = [ANNOUNCED.format(stage), f"step {last.step:,} of {last.steps:,}", f"loss {last.loss:.4f}"]
    if scores:
        best = max(scores, key=lambda event: event.score)
        base = f" (before training {times_100(before[0].score)})" if before else ""
        facts.append(f"best on dev {times_100(best.score)} at step {best.step:,}{base}")
    facts.append(f"{last.pairs_per_second:,.0f} examples/s")
    if info.live and last.step < last.steps and not run.of(records.Kept) and not run.stopping:
        facts.append(f"{duration((last.steps - last.step) * last.seconds / max(1, last.step))} of training left")
    if lent := run.of(records.Lent):
        facts.append(f"GPU {sum(event.used for event in lent):.0f} of {amount(sum(event.asked for event in lent), 'second')} asked")
    text = Markup(" · ").join(facts)
    if not info.live and info.message:
        text += f". {info.message}"
    warning = dev_warning(before[0].score) if before and info.live else ""
    return html.progress(last.step, last.steps, text, "Training") + html.notes([warning, *(event.refused for event in lent)])


def run_title(info: records.RunInfo) -> Markup:
    """Which run is shown: its name, its file and its date."""
    file = f", from {info.file}" if info.file else ""
    return Markup('<p class="read run-title">Run <b>{}</b>{}, {}</p>').format(info.name, file, info.created[:16])


def made_of(run: records.RunState, examples: int) -> Markup:
    """In the place of the data that a run was made of and the session has no more; and that it was interrupted."""
    name, file, step = run.info.name, run.info.file or "a file", max((event.step for event in run.of(records.Loss)), default=0)
    line = f"Run {name} was interrupted at step {step:,}: resume it below. " if run.info.state == records.INTERRUPTED else ""
    return html.empty(f"{line}The run below was made of {examples:,} {KINDS[run.kind].lower()} of {file}; upload it for another.")


def other_data(info: records.RunInfo, data: TrainingData) -> Markup:
    """A line that says that the run shown was not trained on the data loaded in step 1; empty if it was."""
    if info.fingerprint == data.split.fingerprint:
        return Markup()
    own, loaded = info.file or "other data", data.reading.name
    same = f"with other columns or another split of {own} than step 1 shows."
    text = same if own == loaded else f"on {own}, not on {loaded}, which is loaded in step 1."
    return Markup('<p class="other-data" role="status">This run was trained {}</p>').format(text)


def best_of(plan: Plan) -> str:
    """What stands for the objective of a plan that tries several, "" for others."""
    return f"Best of {len(plan.tries)} objectives" if plan.tries else ""


def plan_line(plan: Plan) -> Markup:
    options = plan.options
    title, rate = best_of(plan) or OBJECTIVES[plan.objective].title, np.format_float_positional(options.learning_rate)
    settings = f"{amount(options.epochs, 'epoch')}, batch {options.batch_size}, rate {rate}, seed {options.seed}"
    return html.hint(f"From {plan.base}: {title}, {settings}.")
