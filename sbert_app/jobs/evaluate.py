"""The job evaluate: measure systems on data whose right answers are known."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import measure
from sbert_app.grid.cell import Cell
from sbert_app.grid.data_sets import subsets_of
from sbert_app.grid.export import as_markdown, check_known, write_files
from sbert_app.grid.loading import load_system
from sbert_app.grid.rankers import Tick, joined, streamed
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import BERT, SBERT, SYSTEMS, Choice, System, check_names
from sbert_app.grid.tasks.task import TASKS
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option, remarks
from sbert_app.jobs.declaring.option import flag, local_file, local_folder, names, option, output, text
from sbert_app.labelled.columns import guess_mapping, has_pairs
from sbert_app.labelled.examples import Examples, read_examples
from sbert_app.labelled.queries import judged_columns
from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.runtime.workbench import Workbench
from sbert_app.step import Step
from sbert_app.tables import Table

NAMED = "; ".join(f"{name} ({about})" for name, about in SYSTEMS.items())
TASKS_NAMED = "; ".join(f"{name} ({about})" for name, about in TASKS.items())
BESIDE_MEASURES = ("model", "sentences", "seconds")
TASKS_HELP = (
    f"Of the folder, only data sets with these tasks: {TASKS_NAMED}. Sentences with classes can be asked for as clusters and as "
    "triplets too, drawn from their classes; unasked, they are classes only."
)


@dataclass(frozen=True)
class EvaluateOptions:
    model: str = model_option()
    systems: list[str] = option(
        f"Any of these or names of models, in the shell separated by commas: {NAMED}.", names("systems"), [SBERT]
    )
    cross_encoder: str = cross_encoder_option(DEFAULT_CROSS_ENCODER, "The model of the system cross-encoder.")
    bert: str = option("Hub name or folder of the model of the systems bert-mean and bert-cls.", text("bert"), BERT)
    word_vectors: Path | None = option(
        "A GloVe text file for the system word-vectors, gzipped or not.", local_file(), None, endpoint=False
    )
    data: Path | None = option("Instead of a file, a folder of data sets.", local_folder(), None, endpoint=False)
    tasks: list[str] = option(TASKS_HELP, names("tasks"), [], endpoint=False)
    quick: bool = option("Learn classes by the quick form of transfer, not by SentEval's protocol.", flag("quick"), False)
    mteb: Path | None = option("Also write the figures to this folder, as mteb keeps its results.", output(), None)


def evaluate(call: Call, options: EvaluateOptions) -> Steps:
    """Evaluate systems on labelled pairs, triplets or labelled sentences: Spearman, or the measures that fit the columns.

    Returns:
        For each system: model, measures as fractions (spearman, pearson; average_precision, accuracy, f1; triplet_accuracy;
        accuracy of a linear classifier; v_measure of clusters), sentences, seconds. For a folder the same for each data set,
        or the reason why not, with the 95 % interval and how many of the pairs the system was trained on (seen);
        where a column is named subset, genre or topic, its measure by subset; of classes the protocol, of pairs with two classes
        the f1.
    """
    if options.data is None and call.table is None:
        raise UserError("Give a file of pairs or labelled sentences, or a folder of them with --data.")
    if not (options.data or options.mteb or options.tasks) and _holds_pairs(call.required_table()):
        yield from _pairs(call, options, call.required_table())
    else:
        yield from _grid(call, options)


def _holds_pairs(table: Table) -> bool:
    return has_pairs(table.frame) and judged_columns(table.frame) is None


def _choice(options: EvaluateOptions) -> Choice:
    return Choice(options.model, options.cross_encoder or DEFAULT_CROSS_ENCODER, options.bert or BERT, options.word_vectors)


def _pairs(call: Call, options: EvaluateOptions, table: Table) -> Steps:
    bench = call.services.bench
    reading = read_examples(table, guess_mapping(table.frame), bench.settings.limits, repeats=True, least=2)
    yield from map(Step, remarks(reading))
    examples, systems = reading.examples, options.systems or [SBERT]
    check_names(bench, systems)
    subsets, results = subsets_of(table, examples), {}
    with bench.lines.corpora.join(call.stop) as waiting:
        deque(waiting, maxlen=0)
        for name in systems:
            call.stop.tick()
            system = load_system(bench, name, _choice(options), examples.sentences, call.stop.tick)
            results[system.name] = _measured(bench, system, examples, subsets, call.stop.tick)
    lines = [
        f"{name:14} " + "  ".join(f"{key} {100 * value:.2f}" for key, value in result.items() if key not in BESIDE_MEASURES)
        + f"  ({len(examples):,} examples, {result['seconds']:.1f} s)"
        for name, result in results.items()
    ]  # fmt: skip
    yield Outcome(results, lines)


def _measured(bench: Workbench, system: System, examples: Examples, subsets: Sequence[str], tick: Tick) -> dict[str, Any]:
    """The model's name, its measures as fractions, the number of sentences and the seconds."""
    start = time.perf_counter()
    measures = measure(examples.kind, system.score(examples, subsets), examples.gold)
    sentences, seconds = sum(map(len, examples.sentences)), time.perf_counter() - start
    if system.name == SBERT and examples.kind == "labelled":
        measures |= _of_head(bench, system.model, examples, tick)
    return {"model": system.model, **measures, "sentences": sentences, "seconds": seconds}


def _of_head(bench: Workbench, model: str, examples: Examples, tick: Tick) -> dict[str, float]:
    """The accuracy of the softmax head that the encoder was trained with, if it has one for these labels."""
    from sbert_app.training.siamese import load_head, predict_labels

    encoder = bench.registry.encoder(model)
    head = load_head(encoder.folder) if encoder.folder else None
    if not head or head[1] != examples.labels:
        return {}
    stream = streamed(bench, encoder, tick)
    columns = [joined(len(column), stream(column)) for column in examples.sentences]
    return {"head_accuracy": float((predict_labels(head[0], *columns) == examples.targets).mean())}


def _grid(call: Call, options: EvaluateOptions) -> Steps:
    service = call.services.grids
    systems = options.systems or [SBERT]
    if options.data is None:
        grid = service.of_table(call.required_table(), systems, options.tasks, options.quick)
    else:
        grid = service.of_folder(options.data, systems, options.tasks, options.quick)
    if options.mteb is not None:
        check_known(grid)
    for step in service.fill(grid, _choice(options), call.stop):
        grid = step.grid
        now = f"{step.place[0]} on {grid.data_sets[step.place[1]].name}" if step.place else step.waiting
        if now:
            yield Step(now)
    if not grid.complete:
        return
    if options.mteb is not None:
        yield Step(f"{write_files(grid, options.mteb):,} figures for mteb written to {options.mteb}")
    if options.data is None and len(grid.data_sets) == 1:
        yield _of_one(grid)
    else:
        yield Outcome(_summary(grid), [*as_markdown(grid).splitlines(), *_protocols(grid), *_reasons(grid)])


def _of_one(grid: Grid) -> Outcome:
    """The outcome for a single data set. Raises UserError if a system has no figure."""
    for reason in grid.cells.values():
        if isinstance(reason, str):
            raise UserError(reason)
    lines = [
        f"{cell.system:14} " + "  ".join(f"{name} {100 * value:.2f}" for name, value in cell.measures.items())
        + f"  ({cell.sentences:,} sentences, {cell.seconds:.1f} s)"
        for cell in grid
    ]  # fmt: skip
    return Outcome(_summary(grid)[grid.data_sets[0].name], [*lines, *_protocols(grid)])


def _summary(grid: Grid) -> dict[str, Any]:
    return {
        data.name: {system: _facts(grid.cells[system, number]) for system in grid.systems if (system, number) in grid.cells}
        for number, data in enumerate(grid.data_sets)
    }


def _facts(cell: Cell | str) -> dict[str, Any]:
    if isinstance(cell, str):
        return {"reason": cell}
    facts = {"model": cell.model, **cell.measures, "interval": [cell.low, cell.high], "sentences": cell.sentences}
    facts |= {"protocol": cell.protocol} if cell.protocol else {}
    facts |= {"intervals": cell.intervals} if cell.intervals else {}
    return facts | {"seconds": cell.seconds, "day": cell.day, "seen": cell.seen, "subsets": cell.subsets}


def _protocols(grid: Grid) -> list[str]:
    """How classes were learnt, and the F1 of pairs, one line for each data set."""
    lines = []
    for number, data in enumerate(grid.data_sets):
        cells = grid.figures(number)
        protocol = next((cell.protocol for cell in cells.values() if cell.protocol), "")
        f1 = [f"{name} {100 * cell.measures['f1']:.2f}" for name, cell in cells.items() if protocol and "f1" in cell.measures]
        if protocol:
            lines.append(f"{data.name}: {protocol}{'; F1 of ' if f1 else ''}{', '.join(f1)}")
    return ["", *lines] if lines else []


def _reasons(grid: Grid) -> list[str]:
    """Why there is no figure, one line for each cell, and which data sets could not be read."""
    cells = [
        f"{system} on {grid.data_sets[number].name}: {cell}"
        for (system, number), cell in grid.cells.items()
        if isinstance(cell, str)
    ]
    return ["", *cells, *grid.unreadable] if cells or grid.unreadable else []


EVALUATE = Job("evaluate", Needs.DATA_SET, EvaluateOptions, evaluate, "evaluate")
