"""What a run's result means: what weakens it, facts for the model card, and the summary for scripts."""

from collections.abc import Generator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.evaluation.agreement import neighbours_moved
from sbert_app.evaluation.metrics import examples_needed
from sbert_app.evaluation.verdict import BETTER, LEAST_HELD_OUT, UNCLEAR, WORSE, Verdict, judge
from sbert_app.labelled.example_set import Examples, shared_warning
from sbert_app.labelled.examples import general_pairs
from sbert_app.labelled.splits import Split
from sbert_app.runs.plan import Plan, cut_warning
from sbert_app.runs.records import Against, DevScore, Harm, HeadAccuracy, RunResult, RunState
from sbert_app.training.options import OBJECTIVES
from sbert_app.vectors import Array, Vectors, unit_rows
from sbert_app.wording import amount, times_100

if TYPE_CHECKING:
    from torch import nn

    from sbert_app.models.engine.hardware import Hardware
    from sbert_app.training.crossing import Trained

MOST_MOVED = 1_000  # held-out sentences whose neighbours are compared
PERFECT = 0.9995  # is shown as 100.0
UNDEFINED = -1.0  # a dev score where there is nothing to tell apart
REVERSED = -0.5  # the bundled requests, which are to turn a model round, begin at -0.3


@dataclass(frozen=True)
class Look:
    """What a model makes of the held-out examples."""

    columns: Sequence[Vectors]  # the embeddings of each, (n, dim), if the model has any
    predicted: Array  # scores, (n,)
    general: Array  # the scores of `general_pairs`


def look(model: "Trained", held_out: Examples, hardware: "Hardware") -> Generator[None, None, Look]:
    """Compute the held-out and the general examples. Yields between batches."""
    from sbert_app.training.crossing import predictions

    columns, predicted = yield from predictions(model, held_out, hardware)
    _, general = yield from predictions(model, general_pairs(), hardware)
    return Look(columns, predicted, general)


def harm(before: Look, after: Look) -> Harm:
    """What training changed beside its purpose."""
    sides = [unit_rows(look.columns[0][:MOST_MOVED]) for look in (before, after) if look.columns]
    general = judge("scored", before.general, after.general, general_pairs().gold)
    return Harm(general, neighbours_moved(*sides) if sides else None)


def harm_in_words(result: RunResult) -> list[str]:
    """What training changed beside its purpose, one sentence each; nothing for results of older versions."""
    if result.harm is None:
        return []
    change, count = result.harm.general.changes[0], result.harm.general.examples
    word = {WORSE: "it got worse there", BETTER: "it got better there"}.get(result.harm.general.word, "no clear change there")
    values = "{} → {} (change {}, 95 % interval {} to {})".format(*change.sides, *change.interval)
    lines = [f"On {count} everyday pairs that are none of yours, Spearman ×100 is {values}: {word}."]
    if (moved := result.harm.moved) is None:  # a cross-encoder has no embeddings
        return lines
    return [*lines, f"Of the ten nearest neighbours of a held-out sentence, {100 * moved:.0f} % are others than before."]


def against(encoder: str, held_out: Examples, cosines: Array | None, after: Look) -> Against | None:
    """Compare a trained cross-encoder with the cosines of an encoder, where there are any."""
    return None if cosines is None else Against(encoder, judge(held_out.kind, cosines, after.predicted, held_out.gold))


def against_in_words(result: RunResult) -> str:
    """How a trained cross-encoder compares with the cosines of an encoder, "" for a trained encoder."""
    if (against := result.against) is None:
        return ""
    change = against.verdict.changes[0]
    words = {WORSE: "the cosine is better, and faster", BETTER: "the cross-encoder is better"}
    (cosine, cross), (difference, low, high) = change.sides, change.interval
    return (
        f"The cosine of {against.encoder} has {cosine} on these pairs, the trained cross-encoder {cross} (difference {difference}, "
        f"95 % interval {low} to {high}): {words.get(against.verdict.word, 'no clear difference')}."
    )


def tried_in_words(result: RunResult) -> str:
    """Which objectives were tried and which was taken, "" where none was."""
    if not result.tried:
        return ""
    names = [f"{OBJECTIVES[name].title} {times_100(score)}" for name, score in result.tried.items()]
    best = max(result.tried, key=lambda name: result.tried[name])
    taken = result.objective or best  # results of older versions do not name it, and took the best
    why = "" if taken == best else ", as no other is a point better"
    return f"Tried for a short time, dev score: {', '.join(names)}. Trained with {OBJECTIVES[taken].title}{why}."


def dev_warning(score: float | None) -> str:
    """The warning about a dev part that scores 100.0, or far below zero, before training, "" for any other score."""
    if score == UNDEFINED:
        return "The dev part holds one kind of label only, so it chooses nothing: add examples, or give a dev file with both kinds."
    if score is not None and score < REVERSED:
        return (
            f"Before training the dev part scored {times_100(score)}: the closer two sentences are, the lower their score. "
            "Does the column hold distances? Then name it “distance”, and they are turned round."
        )
    if score is None or score < PERFECT:
        return ""
    return (
        "The dev part scored 100.0 before training, so it chooses nothing: of the checkpoints that score highest on it, the first "
        "is kept. Use more or harder examples for choosing the checkpoint."
    )


def below_start(run: RunState) -> str:
    """That no checkpoint was as good on dev as the model before training, "" where one was."""
    best, before = max((event.score for event in run.of(DevScore)), default=1.0), run.result.dev_before if run.result else None
    if before is None or best >= before:
        return ""
    return f"On dev no checkpoint was as good as the start: best {times_100(best)}, before training {times_100(before)}."


def warnings(result: RunResult) -> list[str]:
    """What weakens the result of a run, apart from `too_few`, which is a verdict of its own on the page."""
    return list(filter(None, [shared_warning(result.shared), dev_warning(result.dev_before), cut_warning(result.cut)]))


def too_few(verdict: Verdict) -> str:
    """That so few held-out examples allow no verdict, "" for enough."""
    few = f"Only {amount(verdict.examples, 'held-out example')}: too few to judge, at least {LEAST_HELD_OUT} are needed."
    return few if verdict.examples < LEAST_HELD_OUT else ""


def notes(result: RunResult) -> list[str]:
    """Sentences beside the verdict: what was tried and compared, what training changed beside its purpose, what weakens it."""
    remarks = (tried_in_words(result), against_in_words(result), *harm_in_words(result))
    return list(filter(None, (too_few(result.verdict), *remarks, *warnings(result))))


def head_accuracy(objective: "nn.Module", columns: Sequence[Vectors], held_out: Examples) -> HeadAccuracy | None:
    """Accuracy of the softmax head on the held-out pairs, and the share of the most frequent label; None without a head."""
    from sbert_app.training.objectives import Classification, predict_labels

    if not isinstance(objective, Classification):
        return None
    targets = held_out.targets.astype(np.int64)
    correct = predict_labels(objective, *columns) == targets
    return HeadAccuracy(float(correct.mean()), float(np.bincount(targets).max() / len(targets)))


def card_facts(plan: Plan, split: Split, result: RunResult) -> dict[str, str]:
    """Rows of the model card: objective, data sizes, how they were split, metric, verdict."""
    options, sizes, change = plan.options, result.parts, result.verdict.changes[0]
    sides = change.before, change.after
    before, after = (f"{100 * side.value:.1f} ({100 * side.low:.1f} to {100 * side.high:.1f})" for side in sides)
    epochs = amount(options.epochs, "epoch")
    settings = f"{epochs}, batch {options.batch_size}, learning rate {options.learning_rate:g}, seed {options.seed}"
    return {
        "objective": f"{OBJECTIVES[plan.objective].title}, {settings}",
        "data": f"{sizes.train:,} examples for training, {sizes.dev:,} to choose the checkpoint",
        "split": " ".join([*split.separation.sentences(), *warnings(result), too_few(result.verdict)]).strip(),
        f"{change.metric} on {sizes.held_out:,} held-out examples": f"{before} before, {after} after (95 % bootstrap intervals)",
        "verdict": result.verdict.word,
        "beside its purpose": " ".join(harm_in_words(result)),
        "objectives tried": tried_in_words(result),
        "beside an encoder": against_in_words(result),
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
        **{name: facts[name] for name in ("seconds", "pairs_per_second", "device", "best_step", "curve", "head", "harm", "tried")},
        "against": facts["against"],
        "notes": notes(result),
    }
