"""The job evaluate: measure systems on data whose right answers are known."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.grid.cell import Cell
from sbert_app.grid.data_set import TASKS, DataSet, PairSet
from sbert_app.grid.export import as_markdown, check_known, write_files
from sbert_app.grid.loading import embedding
from sbert_app.grid.reading import by_tasks, check_tasks, plain_name, read_data_set, read_folder, read_pairs
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import BERT, SBERT, SYSTEMS, Choice, check_names
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option, model_option
from sbert_app.jobs.declaring.option import flag, local, names, option, output, text
from sbert_app.jobs.evaluate.grid import fill
from sbert_app.labelled.columns import has_pairs
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.queries import judged_columns
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER
from sbert_app.step import Step
from sbert_app.wording import amount

NAMED = "; ".join(f"{name} ({about})" for name, about in SYSTEMS.items())
TASKS_NAMED = "; ".join(f"{name} ({about})" for name, about in TASKS.items())
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
        "A GloVe text file for the system word-vectors, gzipped or not.", local("file"), None, endpoint=False
    )
    data: Path | None = option("Instead of a file, a folder of data sets.", local("folder"), None, endpoint=False)
    tasks: list[str] = option(TASKS_HELP, names("tasks"), [], endpoint=False)
    quick: bool = option("Learn classes by the quick form of transfer, not by SentEval's protocol.", flag("quick"), False)
    mteb: Path | None = option("Also write the figures to this folder, as mteb keeps its results.", output(), None)


def evaluate(call: Call, options: EvaluateOptions) -> Steps:
    """Evaluate systems on labelled pairs, triplets or labelled sentences: Spearman, or the measures that fit the columns.

    In the shell, exit status 1 if a file could not be read or a system has no figure.

    Returns:
        For each system: model, measures as fractions (spearman, pearson; average_precision, accuracy and f1 at the best threshold
        of these very pairs; triplet_accuracy; accuracy of a linear classifier; v_measure of clusters), the 95 % interval of the
        first, examples (of pairs), sentences, seconds and day (of the measurement), how many of the pairs the system was trained
        on (seen), notes (how a file was read). For a folder the same for each data set, or the reason why not; where a column is
        named subset, genre or topic, its measure by subset; of classes the protocol, of pairs with two classes the f1; unread: why
        files could not be read.
    """
    bench, systems = call.bench, options.systems or [SBERT]
    check_names(bench, systems)
    check_tasks(options.tasks)
    data_sets, unreadable = _read(call, options)
    grid = Grid(tuple(dict.fromkeys(systems)), data_sets, unreadable=unreadable)
    if options.mteb is not None:
        check_known(grid)
    several = len(data_sets) > 1
    yield from (Step(f"{data.name}: {note}" if several else note) for data in data_sets for note in data.remarks)
    choice = Choice(options.model, options.cross_encoder, options.bert or BERT, options.word_vectors)
    for step in fill(bench, grid, choice, call.stop):
        grid = step.result or grid
        if step.stage:
            yield Step(step.stage)
    if not grid.complete:
        return
    if options.mteb is not None:
        yield Step(f"{amount(write_files(grid, options.mteb), 'figure')} for mteb written to {options.mteb}")
    if options.data is not None or len(data_sets) > 1:
        reasons = [*_reasons(grid), *unreadable]
        summary = _summary(grid) | ({"unread": unreadable} if unreadable else {})
        lines = [*as_markdown(grid).splitlines(), *_protocols(grid), *([""] if reasons else []), *reasons]
        yield Outcome(summary, lines, failed=_lacks(grid))
    else:
        yield _of_one(call, grid)


def _read(call: Call, options: EvaluateOptions) -> tuple[tuple[DataSet, ...], tuple[str, ...]]:
    """The data sets with the tasks that are asked for, and which files could not be read. Raises UserError without any."""
    limits, tasks, quick = call.bench.settings.limits, options.tasks, options.quick
    if options.data is not None and call.table is not None:
        raise UserError("Give a file, or a folder with --data, not both.")
    if options.data is not None:
        read = list(read_folder(options.data, limits))
        data_sets = tuple(each for data in read if isinstance(data, DataSet) for each in by_tasks(data, tasks, quick))
        unreadable = tuple(str(error) for error in read if isinstance(error, UserError))
        if not data_sets:
            raise UserError(f"'{options.data.name}' has no data set to measure. {' '.join(unreadable)}".strip())
        return data_sets, unreadable
    if call.table is None:
        raise UserError("Give a file of pairs or labelled sentences, or a folder of them with --data.")
    table, name = call.table, plain_name(call.table.name)
    if not (options.mteb or tasks) and has_pairs(table.frame) and judged_columns(table.frame) is None:
        return (read_pairs(table, limits, name),), ()  # questions with answers too
    data = read_data_set(table, limits, name)
    if not (data_sets := tuple(by_tasks(data, tasks, quick))):
        raise UserError(f"'{table.name}' is data for the task {data.task}, not for {' or '.join(tasks)}.")
    return data_sets, ()


def _of_one(call: Call, grid: Grid) -> Outcome:
    """The outcome for a single data set. Raises UserError for no figure."""
    if not grid.measured:
        raise UserError(next(cell for cell in grid.cells.values() if isinstance(cell, str)))
    (data,), lines = grid.data_sets, []
    summary = _summary(grid)[data.name]
    for cell in grid.measured.values():
        measures = cell.measures | (_of_head(call, cell, data.examples) if isinstance(data, PairSet) else {})
        summary[cell.system] |= measures
        figures = "  ".join(f"{name} {100 * value:.2f}" for name, value in measures.items())
        between = f"95 % interval {100 * cell.low:.2f} to {100 * cell.high:.2f}"
        lines.append(f"{cell.system:14} {figures}  ({between}, {data.amount}, {cell.seconds:.1f} s on {cell.day})")
    return Outcome(summary, [*lines, *_reasons(grid), *grid.seen(), *_protocols(grid)], failed=_lacks(grid))


def _lacks(grid: Grid) -> bool:
    """Whether a file could not be read, or a system has no figure at all."""
    return bool(grid.unreadable) or {cell.system for cell in grid.measured.values()} != set(grid.systems)


def _reasons(grid: Grid) -> list[str]:
    """Why there is no figure, a line for each cell without one."""
    cells = grid.cells.items()
    return [f"{system} on {grid.data_sets[number].name}: {cell}" for (system, number), cell in cells if isinstance(cell, str)]


def _of_head(call: Call, cell: Cell, pairs: Examples) -> dict[str, float]:
    """The accuracy of the softmax head that the system's encoder was trained with, if it has one for these labels."""
    if cell.system != SBERT or pairs.kind != "labelled":
        return {}
    from sbert_app.training.objectives import load_head, predict_labels

    encoder = call.bench.registry.encoder(cell.model)
    head = load_head(encoder.folder) if encoder.folder else None
    if not head or head[1] != pairs.labels:
        return {}
    with call.bench.lines.corpora.join(call.stop) as waiting:
        deque(waiting, maxlen=0)
        columns = list(map(embedding(call.bench, encoder, call.stop.tick), pairs.sentences))
    return {"head_accuracy": float((predict_labels(head[0], *columns) == pairs.targets).mean())}


def _summary(grid: Grid) -> dict[str, Any]:
    return {
        data.name: {system: _facts(grid.cells[system, number], data) for system in grid.systems if (system, number) in grid.cells}
        for number, data in enumerate(grid.data_sets)
    }


def _facts(cell: Cell | str, data: DataSet) -> dict[str, Any]:
    if isinstance(cell, str):
        return {"reason": cell}
    facts = {"model": cell.model, **cell.measures, "interval": [cell.low, cell.high]}
    facts |= {"examples": data.size, "sentences": cell.sentences}
    facts |= {"protocol": cell.protocol} if cell.protocol else {}
    facts |= {"intervals": cell.intervals} if cell.intervals else {}
    return facts | {"seconds": cell.seconds, "day": cell.day, "seen": cell.seen, "notes": data.remarks, "subsets": cell.subsets}


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


EVALUATE = Job("evaluate", Needs.DATA_SET, EvaluateOptions, evaluate, "evaluate")
