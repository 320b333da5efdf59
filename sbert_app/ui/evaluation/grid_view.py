"""Render the grid: a row for each system, a column for each data set, and in words which differences are real."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from sbert_app.evaluation.paper import SOURCE
from sbert_app.grid import export, reading, systems
from sbert_app.grid.cell import Cell
from sbert_app.grid.result import SEEN_MARK, Grid, Place, difference
from sbert_app.ui.kit import html
from sbert_app.wording import digits, duration, spoken, times_100

NAMES = {
    systems.SBERT: "SBERT",
    **{name: f"SBERT, {pooling.replace('cls', 'CLS')} pooling" for name, pooling in systems.POOLED.items()},
    "bert-mean": "Average of BERT's outputs",
    "bert-cls": "BERT's first output",
    systems.CROSS: "Cross-encoder",
    systems.WORD_VECTORS: "Average word vectors",
    systems.TF_IDF: "tf-idf",
    systems.OVERLAP: "Word overlap",
    systems.SVR: "Support-vector regressor",
    systems.BM25: "BM25",
    systems.HYBRID: "Hybrid search",
    systems.MAXSIM: "Hybrid, word by word",
    systems.RERANKED: "Re-ranked search",
}
MEASURES = {
    "spearman": "Spearman",
    "average_precision": "Average precision",
    "triplet_accuracy": "Triplets right",
    "accuracy_at_1": "Partner first",
    "accuracy": "Accuracy",
    "ndcg_at_10": "nDCG@10",
    "v_measure": "V-measure",
}
NOTHING = "Choose systems and data sets, then measure: each cell fills as soon as it is known."
HOW_TO_READ = (
    "All figures × 100, below them the range of 95 % of the data's resamples. Bold: the best, and what may be as good by chance. "
    "Click a figure for its errors. Speed: on the same examples for every system, when each cell was measured; beside other work "
    "it is too low. From it, on pairs, the time for 10,000 sentences all against all, 49,995,000 pairs, is extrapolated: a system "
    "that reads sentences apart reads each once (cosines left out)."
)
NO_MEAN = "No mean: no two data sets have the same measure and a figure of every system."
UNAVAILABLE = Markup('<tr class="unavailable"><th scope="row">{}</th><td class="none" colspan="{}">{}</td></tr>')


def grid(grid: Grid, choice: systems.Choice, current: Place | None = None) -> Markup:
    """The table. current: the cell that is being measured."""
    level = [grid.level(number) if len(grid.figures(number)) > 1 else [] for number in range(len(grid.data_sets))]
    means = grid.means() if len(grid.like) > 1 else {}
    top = max(means.values(), default=0.0)
    rows = []
    for system in grid.systems:
        if reason := grid.missing(system):
            rows.append(UNAVAILABLE.format(_named(system, choice), len(grid.data_sets) + 1 + bool(means), reason))
            continue
        cells = [_cell(grid, (system, number), choice, system in level[number], current) for number in range(len(grid.data_sets))]
        if means:
            mean = times_100(means[system]) if system in means else ""
            cells.append(Markup('<td class="mean{}">{}</td>').format(" best" if mean and means[system] == top else "", mean))
        cells.append(_speed(grid, system))
        rows.append(Markup('<tr><th scope="row">{}</th>{}</tr>').format(_named(system, choice), Markup().join(cells)))
    rest = Markup("<td></td>") * (1 + bool(means))
    rows += [_published(name, figures, rest) for name, figures in export.published(grid.data_sets).items()]
    return Markup(
        '<div class="scroll eval" tabindex="0" role="region" aria-label="Figures by system and data set"><table class="plain">'
        '<thead><tr><th scope="col">System</th>{}</tr></thead><tbody>{}</tbody></table></div>'
    ).format(Markup().join(_heads(grid, bool(means))), Markup().join(rows))


def name_of(system: str, model: str = "SBERT") -> str:
    """A system's name on the page: one of NAMES, where `model` is that of the header, else the model's name."""
    return NAMES[system].replace("SBERT", model) if system in NAMES else system


def _named(system: str, choice: systems.Choice) -> Markup:
    models = {systems.SBERT: choice.model, systems.CROSS: choice.cross_encoder, systems.SVR: systems.LEARNS}
    models |= dict.fromkeys(systems.POOLED, choice.model) | dict.fromkeys(systems.RAW, choice.bert)
    return Markup("{}<small>{}</small>").format(name_of(system), models.get(system, ""))


def _heads(grid: Grid, means: bool) -> Iterator[Markup]:
    """The columns: a data set each, the mean, the speed."""
    head = Markup('<th scope="col">{}<small>{}{}</small></th>')
    for data in grid.data_sets:
        about = f"{MEASURES[data.measure]}, {data.amount}"
        yield head.format(data.name, about, Markup("<br>made for Fine-tune") if data.purpose else "")
    if means:
        of = f", {len(grid.like)} of {len(grid.data_sets)} sets" if len(grid.like) < len(grid.data_sets) else ""
        yield head.format("Mean", MEASURES[grid.data_sets[grid.like[0]].measure], of)
    extrapolated = any(grid.all_pairs_seconds(system) for system in grid.systems)
    below = Markup("<br>10,000 all against all, extrapolated") if extrapolated else ""
    yield head.format("Speed", f"{grid.unit} a second" if grid.unit else "", below)


def _published(name: str, figures: Sequence[float | None], rest: Markup) -> Markup:
    cells = Markup().join(Markup('<td class="paper">{}</td>').format("" if f is None else f"{f:.2f}") for f in figures)
    row = Markup('<tr class="paper"><th scope="row">{}<small>{}</small></th>{}{}</tr>')
    return row.format(name, f"published: {SOURCE}", cells, rest)


def _speed(grid: Grid, system: str) -> Markup:
    if not (speed := grid.speed(system)):
        return Markup('<td class="mean"></td>')
    seconds = grid.all_pairs_seconds(system)
    return Markup('<td class="mean">{}<small>{}</small></td>').format(digits(speed), spoken(seconds) if seconds else "")


def _cell(grid: Grid, place: Place, choice: systems.Choice, level: bool, current: Place | None) -> Markup:
    cell = grid.cells.get(place)
    if isinstance(cell, Cell):
        data = Markup('data-system="{}" data-number="{}"').format(*place)
        label = f"{name_of(place[0], choice.model)} on {grid.data_sets[place[1]].name}: {times_100(cell.value)}. Show its errors"
        mark = SEEN_MARK if grid.was_seen(cell, place[1]) else ""
        spread = f"{times_100(cell.low)} to {times_100(cell.high)}" if grid.data_sets[place[1]].size > 1 else "of one alone"
        return Markup('<td><button type="button" class="{}" {} aria-label="{}"><b>{}{}</b><small>{}</small></button></td>').format(
            "best" if level else "", data, label, times_100(cell.value), mark, spread
        )
    if cell is not None:
        return Markup('<td class="none" title="{}"><abbr title="{}">–</abbr></td>').format(cell, cell)
    if place == current:
        return Markup('<td class="current"><i role="img" aria-label="being measured"></i></td>')
    return Markup('<td class="pending"></td>') if current else Markup('<td class="none" title="Not measured">–</td>')


def stage(grid: Grid, choice: systems.Choice, place: Place | None, waiting: str) -> Markup:
    """What is being measured or waited for, how many cells are filled, and the time left."""
    left = grid.seconds_left()
    now = f"{name_of(place[0], choice.model)} on {grid.data_sets[place[1]].name}" if place else waiting
    parts = [now, f"{len(grid.cells):,} of {len(grid.places):,} cells", f"about {duration(left)} left" if left else ""]
    return html.status(" · ".join(filter(None, parts)))


def in_words(grid: Grid, choice: systems.Choice) -> Markup:
    """Of each data set which system is best, and by how much or whether that may be chance; what to mind; how files were read."""
    sentences = [sentence for number in range(len(grid.data_sets)) if (sentence := _sentence(grid, number, choice.model))]
    reasons: dict[str, list[str]] = {}
    for (system, _), cell in grid.cells.items():
        name = name_of(system, choice.model)
        if isinstance(cell, str) and not grid.missing(system) and name not in reasons.setdefault(cell, []):
            reasons[cell].append(name)
    empty = [f"No figure for {_list(names)}: {reason[:1].lower()}{reason[1:]}" for reason, names in reasons.items()]
    made = [f"{data.name} {data.purpose}" for data in grid.data_sets if data.purpose]
    seen = grid.seen(lambda system: name_of(system, choice.model))
    no_mean = NO_MEAN if len(grid.data_sets) > 1 and len(grid.like) < 2 else ""
    read = [f"{data.name}: {note}" for data in grid.data_sets if data.name not in reading.OWN for note in data.remarks]
    return html.notes([*sentences, *made, *seen, *empty, no_mean, *read, *grid.unreadable])


def _sentence(grid: Grid, number: int, model: str) -> str:
    level = grid.level(number)
    figures = {name: cell for name, cell in grid.figures(number).items() if not grid.was_seen(cell, number)}
    if len(figures) < 2 or grid.is_small(number):
        return ""
    data, names = grid.data_sets[number], list(figures)
    if len(level) > 1:
        return f"{data.name}: {_list([name_of(name, model) for name in level])} differ by no more than chance may explain."
    ahead = difference(figures[names[0]], figures[names[1]])
    best, second = (name_of(name, model) for name in names[:2])
    by, low, high = map(times_100, (ahead.value, ahead.low, ahead.high))
    return f"{data.name}: {best} is best, {by} ahead of {second} ({low} to {high})."


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
