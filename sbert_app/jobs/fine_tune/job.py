"""The job fine_tune: train on labelled pairs, in the shell's process or, for an endpoint, in the background."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import choice, flag, number, option, output, text, upload, whole
from sbert_app.jobs.fine_tune import running
from sbert_app.jobs.fine_tune.preparing import SplitChoice, TrainingData, read_training_data, roles
from sbert_app.labelled.example_set import COLUMN, GIVEN, SENTENCES, SPLITS
from sbert_app.runs.plan import PRESETS, QUICK, REFINING, Plan, preset, preset_for
from sbert_app.runs.records import STOPPED, Baseline, DevScore, Event, Loss, RunResult, RunState, Tried
from sbert_app.runs.result import notes, summary
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.storage import atomic_folder, writing_to
from sbert_app.tables import Table
from sbert_app.training.options import OBJECTIVES, RANGES

POLL_SECONDS = 0.5
NUMBERS = ("epochs", "batch_size", "learning_rate", "seed")  # the options that are numbers of the training loop


@dataclass(frozen=True)
class FineTuneOptions:
    out: Path | None = option("Folder for the trained model; must not exist yet.", output())
    objective: str = option(f"One of {', '.join(OBJECTIVES)}. Empty: chosen by the columns.", choice("objective", OBJECTIVES), "")
    preset: str = option(f"One of {', '.join(PRESETS)}.", text("preset"), QUICK)
    model: str = model_option(flag="--base")
    owner: str = option(
        "Hosted apps only: your own secret of at least 16 characters; it gives access to the run.", text("owner"), "", shell=False
    )
    epochs: int | None = option("Passes over all examples. Default: from the preset.", whole("epochs", *RANGES["epochs"]), None)
    batch_size: int | None = option(
        "Examples per step. Default: from the preset.", whole("batch size", *RANGES["batch_size"]), None
    )
    learning_rate: float | None = option(
        "Peak learning rate. Default: from the preset.", number("learning rate", *RANGES["learning_rate"]), None
    )
    seed: int | None = option("Seed of shuffling and dropout. Default: 0.", whole("seed", *RANGES["seed"]), None)
    learning_curve: bool = option(
        "Also train on half of the examples, to see whether more labels would help.", flag("learning curve"), False, flag="--curve"
    )
    split: str = option(
        "What only one part may hold, sentences or pairs: with pairs, a held-out sentence may occur in training, in another pair.",
        choice("split", SPLITS), SENTENCES,
    )  # fmt: skip
    split_column: str = option(
        "A column, such as topic, whose values stay in one part; it replaces the split by sentences or pairs. Empty: none.",
        text("split column"), "",
    )  # fmt: skip
    dev: Table | None = option("File for choosing the checkpoint. Default: a tenth of the data.", upload(), None)
    test: Table | None = option("Held-out file for the verdict. Default: a fifth of the data.", upload(), None)
    cross_encoder: str = option(
        "Train this cross-encoder instead, on pairs with scores or labels, and compare it with the encoder's cosine. Empty: the "
        "encoder is trained.", text("cross-encoder"), "",
    )  # fmt: skip
    label_column: str = option("The column of scores or labels. Empty: guessed.", text("label column"), "")
    same: str = option("Of labels, the one that means that both say the same. Empty: guessed.", text("label"), "")


def fine_tune(call: Call, options: FineTuneOptions) -> Steps:
    """Train on labelled pairs or triplets, and evaluate before and after on held-out examples.

    In the shell, the same command resumes a killed run. An endpoint's run continues when the call is closed.

    Returns:
        While running: run, state, message, step, steps, loss. At the end also model (a name for all jobs, or the folder), verdict,
        before, after, difference, notes (sentences to read before the model is used, on harm too), harm (the verdict on everyday
        pairs that are none of yours; how many neighbours moved), examples, split, shared_sentences (held-out sentences that
        training has too), dev_before (the dev score before training: at 1 it chooses nothing), examples_needed (held out, for a
        change that is not clear to be so in 80 % of repetitions; null if it is clear), head (the softmax head's accuracy on
        held-out pairs, and that of always giving the most frequent label; null without a head), tried (the dev score of each
        objective that was tried), against (for a cross-encoder: encoder, and the verdict from its cosine to the trained
        cross-encoder; else null), seconds, pairs_per_second.
    """
    if options.out and options.out.exists():
        raise UserError(f"'{options.out}' already exists. Choose another --out.")
    table = call.required_table()
    how = SplitChoice(options.split or SENTENCES, options.split_column, options.test, options.dev)
    mapping = roles(table, options.label_column, options.same)
    data = read_training_data(table, mapping, call.bench.settings.limits, how)
    if options.same and options.same not in (known := data.reading.examples.labels):
        has = f"Its labels are: {', '.join(known)}" if known else f"It was read as {mapping.kind}, without labels"
        raise UserError(f"'{table.name}' has no label '{options.same}'. {has}.")
    plan = plan_of(options, data)
    if options.out:
        yield from map(Step, [*data.reading.remarks, *data.split.separation.sentences()])
        steps = _in_shell(call.bench, data, plan, options.out)
    else:
        steps = _in_background(call.bench, data, plan, options.owner)
    for step in steps:
        if isinstance(step, Outcome) and "notes" in step.summary:
            step.summary["notes"] = [*data.reading.remarks, *step.summary["notes"]]
        yield step


def plan_of(options: FineTuneOptions, data: TrainingData, adjust: Mapping[str, Any] | None = None) -> Plan:
    """The preset with what was chosen instead. UserError for what does not fit. adjust: values of ObjectiveOptions."""
    examples = data.split.train
    base, encoder = (options.cross_encoder, options.model) if options.cross_encoder else (options.model, "")
    plan = replace(preset_for(examples, options.preset or QUICK, base, encoder), learning_curve=options.learning_curve)
    numbers = {name: value for name in NUMBERS if (value := getattr(options, name)) is not None}
    if options.objective:
        plan = replace(plan, objective=options.objective, tries=())
    try:
        chosen = {name: value for name, value in (adjust or {}).items() if value is not None}
        plan = replace(plan, options=replace(plan.options, **numbers), adjust=replace(plan.adjust, **chosen))
    except (ValueError, TypeError) as error:
        raise UserError(f"These settings do not work: {error}.") from error
    plan.check(examples.kind)
    plan.learnt(examples)
    return plan


def options_of(run: RunState) -> dict[str, Any] | None:
    """The options that train a finished run again. None if no command can: stopped, or of parts or columns that are no options."""
    plan, split, info = run.plan, run.separation, run.info
    if run.result is None or info.state == STOPPED or not info.file or info.named is None or GIVEN in (split.held_out, split.dev):
        return None
    numbers = {name: getattr(plan.options, name) for name in NUMBERS}
    options = {
        "objective": "" if plan.tries else plan.objective,
        "model": plan.encoder or plan.base,
        "cross_encoder": plan.base if plan.encoder else "",
        "learning_curve": plan.learning_curve,
        **numbers,
    }
    options |= {"split_column": split.column} if split.wanted == COLUMN else {"split": split.wanted}
    for name in PRESETS:
        like = preset(name, run.kind, run.result.parts.train, plan.base, plan.encoder, plan.tries[:1] == (REFINING,))
        settings = replace(like.options, **numbers)
        if replace(like, objective=plan.objective, options=settings, learning_curve=plan.learning_curve) == plan:
            return {**options, **info.named, "out": "model", "preset": name}
    return None


def _in_shell(bench: Workbench, data: TrainingData, plan: Plan, out: Path) -> Steps:
    """Train in this process, or resume a killed run; then move the model to `out` and delete the run."""
    if interrupted := running.interrupted_run(bench, plan, data):
        yield Step(f"going on with the run of {interrupted.info().created}, which was interrupted")
    run = interrupted or running.create(bench, data, plan)
    try:
        with run.lock():
            yield from filter(None, map(_told, running.train_here(bench, run)))
    except UserError:
        if not run.has_checkpoint:  # such as a model that does not exist: there is nothing to go on with
            running.delete(bench, run.id)
        raise
    state = running.state(bench, run.id)
    if state.result is None:
        raise UserError(state.info.message)
    with writing_to(out, "out"), atomic_folder(out) as folder:
        shutil.copytree(run.model, folder, dirs_exist_ok=True)
    running.delete(bench, run.id)
    yield Outcome(summary(state.result) | {"model": str(out)}, _lines(state.result, str(out)))


def _told(event: Event) -> Step[Any] | None:
    if isinstance(event, Loss):
        return Step("Step", event.step, event.steps)
    if isinstance(event, Tried):
        return Step(f"tried {event.objective}: dev {100 * event.score:.2f}")
    if isinstance(event, Baseline):
        return Step(f"before training: dev {100 * event.score:.2f}")
    if isinstance(event, DevScore):
        return Step(f"step {event.step}: dev {100 * event.score:.2f}{' *' if event.best else ''}")
    return None


def _in_background(bench: Workbench, data: TrainingData, plan: Plan, owner: str) -> Steps:
    run = running.start(bench, data, plan, owner)
    while (state := running.state(bench, run.id, owner)).info.live:
        yield Step(state.info.state, details=_details(state))
        time.sleep(POLL_SECONDS)
    if not state.result:
        yield Outcome(_details(state), [state.info.message])
        return
    model = state.info.model
    yield Outcome(_details(state) | {"model": model} | summary(state.result), _lines(state.result, model))


def _details(run: RunState) -> dict[str, Any]:
    last = {key: getattr(loss, key) for loss in run.of(Loss)[-1:] for key in ("step", "steps", "loss")}
    return {"run": run.info.id, "state": run.info.state, "message": run.info.message, **last}


def _lines(result: RunResult, model: str) -> list[str]:
    lines = [
        f"{c.metric}: {100 * c.before.value:.2f} before, {100 * c.after.value:.2f} after "
        f"(change {100 * c.difference.low:+.2f} to {100 * c.difference.high:+.2f}, p {c.p:.3f})"
        for c in result.verdict.changes
    ]
    if head := result.head:
        lines.append(f"labels: {100 * head.accuracy:.1f} % correct ({100 * head.majority:.1f} % by the most frequent label)")
    speed = f"{result.seconds:.1f} s, {result.pairs_per_second:.0f}/s -> {model}"
    return [*lines, f"verdict: {result.verdict.word}", *notes(result), speed]


FINE_TUNE = Job("fine_tune", Needs.LABELLED, FineTuneOptions, fine_tune, "train", streams=True)
