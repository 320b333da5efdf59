"""What a run's result means: what weakens it, facts for the model card, and the summary for scripts."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.evaluation.metrics import MetricEstimate, examples_needed
from sbert_app.evaluation.verdict import LEAST_HELD_OUT, UNCLEAR, Verdict
from sbert_app.labelled.example_set import Examples, shared_warning
from sbert_app.labelled.splits import Split
from sbert_app.runs.plan import Plan
from sbert_app.runs.records import HeadAccuracy, RunResult
from sbert_app.training.options import OBJECTIVES
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

if TYPE_CHECKING:
    from torch import nn

PERFECT = 0.9995  # is shown as 100.0


def dev_warning(score: float | None) -> str:
    """The warning about a dev part that scores 100.0 before training, "" for any other score."""
    if score is None or score < PERFECT:
        return ""
    return (
        "The dev part scored 100.0 before training, so it chooses nothing: of the checkpoints that score highest on it, the first "
        "is kept. Use more or harder examples for choosing the checkpoint."
    )


def warnings(result: RunResult) -> list[str]:
    """What weakens the result of a run."""
    return list(filter(None, [shared_warning(result.shared), dev_warning(result.dev_before)]))


def head_accuracy(objective: "nn.Module", columns: Sequence[Vectors], held_out: Examples) -> HeadAccuracy | None:
    """Accuracy of the softmax head on the held-out pairs, and the share of the most frequent label; None without a head."""
    from sbert_app.training.objectives import Classification
    from sbert_app.training.siamese import predict_labels

    if not isinstance(objective, Classification):
        return None
    targets = held_out.targets.astype(np.int64)
    correct = predict_labels(objective, *columns) == targets
    return HeadAccuracy(float(correct.mean()), float(np.bincount(targets).max() / len(targets)))


def card_facts(plan: Plan, split: Split, result: RunResult) -> dict[str, str]:
    """Rows of the model card: objective, data sizes, how they were split, metric, verdict."""
    options, sizes, change = plan.options, result.parts, result.verdict.changes[0]
    epochs = f"{options.epochs} {plural(options.epochs, 'epoch', 'epochs')}"
    settings = f"{epochs}, batch {options.batch_size}, learning rate {options.learning_rate:g}, seed {options.seed}"
    return {
        "objective": f"{OBJECTIVES[plan.objective].title}, {settings}",
        "data": f"{sizes.train:,} examples for training, {sizes.dev:,} to choose the checkpoint",
        "split": " ".join([*split.separation.sentences(), *warnings(result)]),
        f"{change.metric} on {sizes.held_out:,} held-out examples": f"{_percent(change.before)} before, "
        f"{_percent(change.after)} after (95 % bootstrap intervals)",
        "verdict": result.verdict.word,
    }


def needed_for(verdict: Verdict) -> int | None:
    """About how many held-out examples would settle the change, None if it is settled or there are too few to judge."""
    if verdict.word != UNCLEAR or verdict.examples < LEAST_HELD_OUT:
        return None
    change = verdict.changes[0].difference
    return examples_needed(verdict.examples, change.value, change.low, change.high)


def summary(result: RunResult) -> dict[str, Any]:
    """The part of a run's result that scripts get."""
    facts, changes = asdict(result), result.verdict.changes
    return {
        "before": {change.metric: change.before.value for change in changes},
        "after": {change.metric: change.after.value for change in changes},
        "verdict": result.verdict.word,
        "difference": {change.metric: asdict(change.difference) | {"p": change.p} for change in changes},
        "examples": facts["parts"],
        "split": facts["split"] or {},
        "shared_sentences": result.shared,
        "dev_before": result.dev_before,
        "examples_needed": needed_for(result.verdict),
        **{name: facts[name] for name in ("seconds", "pairs_per_second", "device", "best_step", "curve", "head")},
    }


def _percent(estimate: MetricEstimate) -> str:
    return f"{100 * estimate.value:.1f} ({100 * estimate.low:.1f} to {100 * estimate.high:.1f})"
