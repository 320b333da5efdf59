"""Commands on labelled data: train, evaluate."""

import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sbert_app.cli.common import File, Json, Model, Progress, app, existing, services, show
from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping
from sbert_app.labelled.examples import Reading
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.runs.plan import PRESETS, QUICK
from sbert_app.runs.result import summary
from sbert_app.runs.run import Run
from sbert_app.services.evaluation import SBERT
from sbert_app.services.fine_tune import FineTuneService
from sbert_app.services.validation import one_of
from sbert_app.storage import atomic_folder
from sbert_app.tables import Table, read_table
from sbert_app.tables.table import skipped_summary
from sbert_app.training.objectives import OBJECTIVES


@app.command()
def train(
    file: File,
    out: Annotated[Path, typer.Option("--out", help="Folder for the trained model; must not exist yet.")],
    objective: Annotated[str, typer.Option("--objective", help=f"One of {', '.join(OBJECTIVES)}. Default: by the columns.")] = "",
    preset: Annotated[str, typer.Option("--preset", help=f"One of {', '.join(PRESETS)}.")] = QUICK,
    epochs: Annotated[int | None, typer.Option("--epochs")] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate")] = None,
    seed: Annotated[int | None, typer.Option("--seed")] = None,
    base: Annotated[str, typer.Option("--base", help="Encoder to start from.")] = DEFAULT_ENCODER,
    dev: Annotated[Path | None, typer.Option("--dev", help="File that chooses the checkpoint. Default: a tenth of FILE.")] = None,
    test: Annotated[Path | None, typer.Option("--test", help="File for the verdict. Default: a fifth of FILE.")] = None,
    curve: Annotated[bool, typer.Option("--curve", help="Train on half as well: would more labels help?")] = False,
    as_json: Json = False,
) -> None:
    """Fine-tune on labelled pairs or triplets, and measure before and after on held-out ones. Killed? Run it again to go on."""
    if out.exists():
        raise UserError(f"'{out}' already exists. Choose another --out.")
    service = services().trainings
    tables = [_read(path, service) for path in (file, dev, test)]
    if tables[0] is None:
        raise UserError(f"There is no file '{file}'. Check the path.")
    offer = service.data.read(tables[0], guess_mapping(tables[0].frame), dev=tables[1], held_out=tables[2])
    _remark(offer.reading)
    changes = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate, "seed": seed}
    plan = service.plan(preset, offer, base, objective=one_of(objective, "objective", OBJECTIVES), learning_curve=curve, **changes)
    run = service.find(plan, offer) or service.create(offer, plan)
    _carry_out(service, run)
    result = service.progress(run.id).result
    if result is None:
        raise UserError(service.progress(run.id).info.message)
    try:
        with atomic_folder(out) as folder:
            shutil.copytree(run.model, folder, dirs_exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot write '{out}': {error.strerror}. Choose another --out.") from error
    service.delete(run.id)
    _report(result, out, as_json)


@app.command()
def evaluate(
    file: File,
    model: Model = DEFAULT_ENCODER,
    systems: Annotated[str, typer.Option("--systems", help="Of sbert, cross-encoder, word-overlap; with commas.")] = SBERT,
    cross_encoder: Annotated[str, typer.Option("--cross-encoder", help="Default: the bundled one.")] = "",
    as_json: Json = False,
) -> None:
    """Measure systems on labelled pairs or triplets: Spearman, or the measure that fits the columns."""
    studio = services()
    service = studio.evaluation
    reading = service.read(read_table(existing(file), studio.bench.settings.limits))
    _remark(reading)
    names = [name.strip() for name in systems.split(",") if name.strip()]
    results = service.evaluate(reading.examples, model, names, cross_encoder)
    measured = {
        result.system: {"model": result.model, **result.measures, "sentences": result.sentences, "seconds": result.seconds}
        for result in results
    }
    lines = [
        f"{result.system:14} " + "  ".join(f"{name} {100 * value:.2f}" for name, value in result.measures.items())
        + f"  ({len(reading.examples):,} examples, {result.seconds:.1f} s)"
        for result in results
    ]  # fmt: skip
    show(measured, as_json, lines)


def _read(path: Path | None, service: FineTuneService) -> Table | None:
    return service.data.read_file(existing(path)) if path else None


def _carry_out(service: FineTuneService, run: Run) -> None:
    """Train in this process, with a line of progress. Ctrl-C leaves a run that the same command goes on with."""
    progress: Progress | None = None
    with run.lock():
        for event in service.steps(run):
            if event["type"] == "step":
                progress = progress or Progress("Step", event["steps"])
                progress.send(event["step"])
            elif event["type"] == "evaluation":
                sys.stderr.write(f"\rstep {event['step']}: dev {100 * event['score']:.2f}{' *' if event['best'] else ''}\n")
    if progress:
        progress.close()


def _report(result: dict[str, Any], out: Path, as_json: bool) -> None:
    changes = result["verdict"]["changes"]
    lines = [
        f"{c['metric']}: {100 * c['before']['value']:.2f} before, {100 * c['after']['value']:.2f} after "
        f"(change {100 * c['difference']['low']:+.2f} to {100 * c['difference']['high']:+.2f}, p {c['p']:.3f})"
        for c in changes
    ]
    lines += [f"verdict: {result['verdict']['word']}", f"{result['seconds']:.1f} s, {result['pairs_per_second']:.0f}/s -> {out}"]
    show(summary(result) | {"model": str(out)}, as_json, lines)


def _remark(reading: Reading) -> None:
    mapping = reading.mapping
    columns = ", ".join(filter(None, (*mapping.sentences, mapping.target)))
    lines = [f"Read as {mapping.kind}, columns {columns}.", *reading.notes, *skipped_summary(reading.skipped)]
    sys.stderr.write("".join(line + "\n" for line in lines))
