"""The job fine_tune: train on labelled pairs; in the shell in its own process, behind an endpoint in the background."""

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.jobs.job import Call, Job, Needs, Outcome, Step, model_option
from sbert_app.jobs.option import choice, flag, number, option, output, text, upload, whole
from sbert_app.jobs.remarks import remarks
from sbert_app.labelled.columns import guess_mapping
from sbert_app.runs.plan import PRESETS, QUICK, Plan
from sbert_app.runs.result import summary
from sbert_app.runs.run import Run
from sbert_app.services.fine_tune import FineTuneService, Progress
from sbert_app.services.labelled import Offer
from sbert_app.storage import atomic_folder, writing_to
from sbert_app.tables import Table
from sbert_app.training.objectives import OBJECTIVES

POLL_SECONDS = 0.5


@dataclass(frozen=True)
class FineTuneOptions:
    out: Path | None = option("Folder for the trained model; must not exist yet.", output())
    objective: str = option(f"One of {', '.join(OBJECTIVES)}. Empty: by the columns.", choice("objective", OBJECTIVES), "")
    preset: str = option(f"One of {', '.join(PRESETS)}.", text("preset"), QUICK)
    model: str = model_option(flag="--base")
    owner: str = option(
        "Hosted apps only: a secret of at least 16 characters of your own; whoever has it sees the run.",
        text("owner"),
        "",
        shell=False,
    )
    epochs: int | None = option("Times that all examples are seen. Default: by the preset.", whole("epochs", 1, 100), None)
    batch_size: int | None = option("Examples in one step. Default: by the preset.", whole("batch size", 2, 1024), None)
    learning_rate: float | None = option("The highest rate. Default: by the preset.", number("learning rate", 1e-8, 1), None)
    seed: int | None = option("Of shuffling and dropout. Default: 0.", whole("seed", 0, 2**31 - 1), None)
    learning_curve: bool = option(
        "Train on half of the examples as well: would more labels help?", flag("learning curve"), False, flag="--curve"
    )
    dev: Table | None = option("File that chooses the checkpoint. Default: a tenth of the file.", upload(), None)
    test: Table | None = option("File for the verdict. Default: a fifth of the file.", upload(), None)


def fine_tune(call: Call, options: FineTuneOptions) -> Iterator[Step | Outcome]:
    """Train on labelled pairs or triplets, and measure before and after on held-out ones.

    In the shell: killed, the same command goes on where it was. An endpoint's run goes on where its call is closed.

    Returns:
        While it runs: run, state, message, step, steps, loss. At the end also model (a name for all jobs, or the folder), verdict,
        before, after, difference, seconds, pairs_per_second.
    """
    if options.out and options.out.exists():
        raise UserError(f"'{options.out}' already exists. Choose another --out.")
    service = call.services.trainings
    table = call.the_table()
    offer = service.data.read(table, guess_mapping(table.frame), dev=options.dev, held_out=options.test)
    plan = _plan(service, offer, options)
    if options.out:
        yield from map(Step, remarks(offer.reading))
        yield from _here(service, offer, plan, options.out)
    else:
        yield from _in_background(service, offer, plan, options.owner)


def _plan(service: FineTuneService, offer: Offer, options: FineTuneOptions) -> Plan:
    changes = {name: getattr(options, name) for name in ("epochs", "batch_size", "learning_rate", "seed", "learning_curve")}
    return service.plan(options.preset or QUICK, offer, options.model, objective=options.objective or None, **changes)


def _here(service: FineTuneService, offer: Offer, plan: Plan, out: Path) -> Iterator[Step | Outcome]:
    """Train in this process, or go on with the run that was killed; the model goes to its folder, the run away."""
    run = service.find(plan, offer) or service.create(offer, plan)
    yield from _steps(service, run)
    progress = service.progress(run.id)
    if progress.result is None:
        raise UserError(progress.info.message)
    with writing_to(out, "out"), atomic_folder(out) as folder:
        shutil.copytree(run.model, folder, dirs_exist_ok=True)
    service.delete(run.id)
    yield Outcome(summary(progress.result) | {"model": str(out)}, _lines(progress.result, str(out)))


def _steps(service: FineTuneService, run: Run) -> Iterator[Step]:
    with run.lock():
        for event in service.steps(run):
            if event["type"] == "step":
                yield Step("Step", event["step"], event["steps"])
            elif event["type"] == "evaluation":
                yield Step(f"step {event['step']}: dev {100 * event['score']:.2f}{' *' if event['best'] else ''}")


def _in_background(service: FineTuneService, offer: Offer, plan: Plan, owner: str) -> Iterator[Step | Outcome]:
    run = service.start(offer, plan, owner)
    while (progress := service.progress(run.id, owner)).live:
        yield Step(progress.info.state, details=_state(progress))
        time.sleep(POLL_SECONDS)
    state = _state(progress)
    if not progress.result:
        yield Outcome(state, [progress.info.message])
        return
    model = progress.info.model
    yield Outcome(state | {"model": model} | summary(progress.result), _lines(progress.result, model or ""))


def _state(progress: Progress) -> dict[str, Any]:
    steps = [event for event in progress.events if event["type"] == "step"][-1:]
    state = {"run": progress.info.id, "state": progress.info.state, "message": progress.info.message}
    return state | {key: steps[0][key] for key in ("step", "steps", "loss") if steps}


def _lines(result: dict[str, Any], model: str) -> list[str]:
    lines = [
        f"{c['metric']}: {100 * c['before']['value']:.2f} before, {100 * c['after']['value']:.2f} after "
        f"(change {100 * c['difference']['low']:+.2f} to {100 * c['difference']['high']:+.2f}, p {c['p']:.3f})"
        for c in result["verdict"]["changes"]
    ]
    speed = f"{result['seconds']:.1f} s, {result['pairs_per_second']:.0f}/s -> {model}"
    return [*lines, f"verdict: {result['verdict']['word']}", speed]


FINE_TUNE = Job("fine_tune", Needs.LABELLED, FineTuneOptions, fine_tune, "train", streams=True)
