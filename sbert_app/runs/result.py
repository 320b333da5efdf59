"""The result of a run: verdict and predictions, facts for the model card, and the summary for scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.evaluation.estimate import examples_needed
from sbert_app.evaluation.verdict import LEAST_HELD_OUT, UNCLEAR, judge
from sbert_app.evaluation.weighted import Array
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.groups import Separation, shared_warning
from sbert_app.labelled.splits import Split
from sbert_app.runs.plan import Plan
from sbert_app.training.options import OBJECTIVES
from sbert_app.vectors import Vectors
from sbert_app.wording import plural

if TYPE_CHECKING:
    from torch import nn

PERFECT = 0.9995  # is shown as 100.0


def compare(split: Split, before: Array, after: Array) -> dict[str, Any]:
    """The verdict on the held-out examples, and their predictions. before, after: (n,)."""
    held_out = split.held_out
    return {
        "verdict": asdict(judge(held_out.kind, before, after, held_out.gold)),
        "before": before.tolist(),
        "after": after.tolist(),
        "parts": {"train": len(split.train), "dev": len(split.dev), "held_out": len(held_out)},
        "split": asdict(split.separation),
        "shared": split.shared,
    }


def dev_warning(score: float | None) -> str:
    """The warning about a dev part that scores 100.0 before training, "" for any other score."""
    if score is None or score < PERFECT:
        return ""
    return (
        "The dev part scored 100.0 before training, so it chooses nothing: of the checkpoints that score highest on it, the first "
        "is kept. Use more or harder examples for choosing the checkpoint."
    )


def warnings(result: Mapping[str, Any]) -> list[str]:
    """What weakens the result of a run."""
    return list(filter(None, [shared_warning(result.get("shared", 0)), dev_warning(result.get("dev_before"))]))


def head_accuracy(objective: "nn.Module", columns: Sequence[Vectors], held_out: Examples) -> dict[str, float] | None:
    """Accuracy of the softmax head on the held-out pairs, and the share of the most frequent label; None without a head."""
    from sbert_app.training.objectives import Classification
    from sbert_app.training.siamese import predict_labels

    if not isinstance(objective, Classification):
        return None
    targets = held_out.targets.astype(np.int64)
    correct = predict_labels(objective, *columns) == targets
    return {"accuracy": float(correct.mean()), "majority": float(np.bincount(targets).max() / len(targets))}


def card_facts(plan: Plan, result: dict[str, Any]) -> dict[str, str]:
    """Rows of the model card: objective, data sizes, how they were split, metric, verdict."""
    options, sizes, change = plan.options, result["parts"], result["verdict"]["changes"][0]
    epochs = f"{options.epochs} {plural(options.epochs, 'epoch', 'epochs')}"
    settings = f"{epochs}, batch {options.batch_size}, learning rate {options.learning_rate:g}, seed {options.seed}"
    notes = [*Separation(**result["split"]).sentences(), *warnings(result)]
    return {
        "objective": f"{OBJECTIVES[plan.objective].title}, {settings}",
        "data": f"{sizes['train']:,} examples for training, {sizes['dev']:,} to choose the checkpoint",
        "split": " ".join(filter(None, notes)),
        f"{change['metric']} on {sizes['held_out']:,} held-out examples": f"{_percent(change['before'])} before, "
        f"{_percent(change['after'])} after (95 % bootstrap intervals)",
        "verdict": result["verdict"]["word"],
    }


def needed_for(verdict: dict[str, Any]) -> int | None:
    """About how many held-out examples would settle the change, None if it is settled or there are too few to judge."""
    if verdict["word"] != UNCLEAR or verdict["examples"] < LEAST_HELD_OUT:
        return None
    change = verdict["changes"][0]["difference"]
    return examples_needed(verdict["examples"], change["value"], change["low"], change["high"])


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """The part of a run's result that scripts get."""
    changes = result["verdict"]["changes"]
    return {
        "before": {c["metric"]: c["before"]["value"] for c in changes},
        "after": {c["metric"]: c["after"]["value"] for c in changes},
        "verdict": result["verdict"]["word"],
        "difference": {c["metric"]: c["difference"] | {"p": c["p"]} for c in changes},
        "examples": result["parts"],
        "split": result.get("split", {}),
        "shared_sentences": result.get("shared", 0),
        "dev_before": result.get("dev_before"),
        "examples_needed": needed_for(result["verdict"]),
        "seconds": result["seconds"],
        "pairs_per_second": result["pairs_per_second"],
        "device": result["device"],
        "best_step": result["best_step"],
        "curve": result["curve"],
        "head": result.get("head"),
    }


def _percent(estimate: dict[str, float]) -> str:
    return f"{100 * estimate['value']:.1f} ({100 * estimate['low']:.1f} to {100 * estimate['high']:.1f})"
