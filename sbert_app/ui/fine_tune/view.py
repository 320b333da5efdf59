"""How fine-tuning looks: what was read, what is going to happen, how far it is, and whether it got better."""

from collections import Counter
from html import escape

from sbert_app.evaluation.verdict import LEAST_HELD_OUT
from sbert_app.labelled.columns import KINDS
from sbert_app.labelled.examples import Examples
from sbert_app.labelled.splits import Split
from sbert_app.runs.plan import Plan
from sbert_app.runs.probe import Estimate
from sbert_app.runs.run import DAMAGED, FAILED, FINISHED, INTERRUPTED, RUNNING, STOPPED, WAITING, RunInfo
from sbert_app.services.fine_tune import Progress
from sbert_app.services.labelled import Offer
from sbert_app.tables.table import skipped_summary
from sbert_app.training.objectives import OBJECTIVES
from sbert_app.ui.kit import html
from sbert_app.wording import duration, plural

STATES = {
    WAITING: "Waiting for its turn",
    RUNNING: "Training",
    INTERRUPTED: "Interrupted: the program ended in the middle. Resume goes on from the last checkpoint.",
    FINISHED: "Finished",
    STOPPED: "Stopped",
    FAILED: "Failed",
    DAMAGED: "Damaged",
}
FIRST_ROWS = 3
ESTIMATING = '<p class="estimate">Timing a few batches, to say how long it will take …</p>'


def refused(name: str, message: str) -> str:
    """A file that was not taken; what was there before stays."""
    return f'<p class="refused" role="alert"><b>{escape(name)}</b> was not taken. {escape(message)}</p>'


def step(number: int, title: str) -> str:
    """The heading of one of the four steps."""
    return f'<h2 class="step"><b aria-hidden="true">{number}</b>{escape(title)}</h2>'


def nothing() -> str:
    """What stands where the data will be."""
    return html.empty(
        "No labelled pairs yet. Pick an example above, or bring your own: from about 100 rows on, a verdict says something."
    )


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
    few = len(parted.held_out)
    warning = f"Only {few} held-out examples: the verdict will not be able to tell. Bring 100 rows or more."
    notes = [warning if few < LEAST_HELD_OUT else "", *_leaks(parted), *reading.notes, *skipped_summary(reading.skipped)]
    return f"{head}{_split(offered)}{_first_rows(examples)}{html.notes(notes)}"


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
    bar = f'<div class="split" role="img" aria-label="{whole:,} examples split in three">{segments}</div>'
    return f'{bar}<ul class="split-legend">{legend}</ul>'


def _leaks(parted: Split) -> list[str]:
    lines = []
    if parted.leaks:
        lines.append(
            f"{parted.leaks:,} {plural(parted.leaks, 'example', 'examples')} left out: the same pair is in a part that judges. "
            "What was learnt by heart proves nothing."
        )
    if parted.shared:
        occur = plural(parted.shared, "sentence occurs", "sentences occur")
        lines.append(f"{parted.shared:,} held-out {occur} in training too, in other pairs: the verdict is a little kind.")
    return lines


def _first_rows(examples: Examples) -> str:
    header = ["Anchor", "Positive", "Negative"] if examples.kind == "triplets" else ["First", "Second"]
    last = {"scored": "Score, 0 to 1", "labelled": "Label"}.get(examples.kind)
    rows = []
    for i in range(min(FIRST_ROWS, len(examples))):
        cells = [escape(html.short(column[i], 120)) for column in examples.sentences]
        rows.append([*cells, *([target(examples, i)] if last else [])])
    return f'<div class="first-rows">{html.table([*header, *([last] if last else [])], rows)}</div>'


def target(examples: Examples, place: int) -> str:
    """What an example is meant to be: its label, or its score as 0 to 1."""
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
    pieces = [f"training {duration(expected.training)}", f"measuring {duration(expected.evaluations)}"]
    if expected.learning_curve:
        pieces.append(f"learning curve {duration(expected.learning_curve)}")
    return (
        f'<p class="estimate"><b>About {duration(expected.seconds)}</b> on {escape(device)}: {", ".join(pieces)}. '
        f"Extrapolated from {expected.batches} batches timed just now, {expected.pairs_per_second:,.0f} examples/s.</p>"
    )


def live(progress: Progress) -> str:
    """How far the run is: bar, loss, dev score, rate, time left."""
    info = progress.info
    steps = [event for event in progress.events if event["type"] == "step"]
    evaluations = [event for event in progress.events if event["type"] == "evaluation"]
    if not steps:
        return html.progress(0, 1, f"{info.name}: {STATES[info.state].lower()}. {info.message}".strip(), "Training")
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
        facts.append(f"{duration(left)} of training left")
    text = " · ".join(facts)
    if not progress.live and info.message:
        text += f". {info.message}"
    return html.progress(last["step"], last["steps"], text, "Training")


def kept(text: str) -> str:
    """What became of the model."""
    return f'<p class="read" role="status">{escape(text)}</p>'


def run_line(info: RunInfo) -> str:
    """One line of the list of runs."""
    state = "damaged, delete it" if info.state == DAMAGED else info.state
    return f"{info.name} · {state} · {info.created[:16]}"


def plan_line(plan: Plan) -> str:
    """A run's settings in one line."""
    o = plan.options
    epochs = f"{o.epochs} {plural(o.epochs, 'epoch', 'epochs')}"
    facts = f"{OBJECTIVES[plan.objective].title}, {epochs}, batch {o.batch_size}, rate {o.learning_rate:g}, seed {o.seed}"
    return f'<p class="hint">From {escape(plan.base)}: {escape(facts)}.</p>'
