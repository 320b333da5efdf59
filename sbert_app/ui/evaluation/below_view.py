"""Render what is below the grid: links to take it home, what a system gets wrong, and where another disagrees with it most."""

from collections import Counter
from collections.abc import Mapping

from markupsafe import Markup

from sbert_app.grid.cell import Cell
from sbert_app.grid.errors import disagreements, mistakes
from sbert_app.grid.export import as_csv, as_latex, as_markdown
from sbert_app.grid.mteb_results import as_files, as_zip
from sbert_app.grid.result import Grid, Place
from sbert_app.grid.systems import Choice
from sbert_app.grid.tasks.task import Mistake
from sbert_app.ui.evaluation.grid_view import name_of
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, pictures, present, row
from sbert_app.wording import digits, times_100

TABLE, WORDS, CHART = "eval-grid", "eval-words", "eval-chart"  # the elements of the result
NAME = "sbert-studio-evaluation"
MOST = 8  # examples in each list
RANKINGS = {"ndcg_at_10": "nDCG@10", "mrr_at_10": "MRR@10", "recall_at_100": "recall@100"}

_SECTION = Markup('<section><h3>{}</h3><div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div></section>')


def links(grid: Grid, choice: Choice) -> Markup:
    """Tables for a spreadsheet, a text or a paper, picture, full screen."""
    results = as_files(grid)
    files = html.links(
        html.link(f"{NAME}.csv", "csv", as_csv(grid), "text/csv"),
        html.link(f"{NAME}.md", "Markdown", as_markdown(grid), "text/markdown"),
        html.link(f"{NAME}.tex", "LaTeX", as_latex(grid), "text/x-tex"),
        *([html.link(f"{NAME}-mteb.zip", "mteb", as_zip(results), "application/zip")] if results else []),
    )
    title = f"{len(grid.systems)} systems on {len(grid.data_sets)} data sets"
    caption = Caption.of(title, choice.model, day=max((cell.day for cell in grid), default=""))
    groups = [files, *([pictures(CHART, NAME)] if grid.means() else []), present()]
    return row(caption, [TABLE, WORDS, CHART], *groups)


def errors(grid: Grid, place: Place) -> Markup:
    """Both lists of one cell."""
    data, system = grid.data_sets[place[1]], name_of(place[0])
    figures = grid.figures(place[1])
    cell = figures.pop(place[0])
    worst = mistakes(data, cell, MOST)
    parts = [_list(f"{system} on {data.name}: the worst errors", worst)]
    if figures:
        name, other = next(iter(figures.items()))
        better = disagreements(data, cell, other, MOST)
        parts.append(_list(f"{data.name}: where {name_of(name)} does better", better))
    parts.append(_measures(data.name, grid.figures(place[1])))
    parts.append(_subsets(cell, Counter(data.subsets)))
    return Markup('<div class="eval-errors">{}</div>').format(Markup().join(parts))


def _measures(name: str, figures: Mapping[str, Cell]) -> Markup:
    """All measures of rankings with their intervals, a line for each system; nothing for other data."""
    ranked = {system: cell for system, cell in figures.items() if cell.intervals}
    if not ranked:
        return Markup()
    rows = [[name_of(system), *(_with_interval(cell, measure) for measure in RANKINGS)] for system, cell in ranked.items()]
    table = html.table(("system", *RANKINGS.values()), rows)
    title = f"{name}: all measures × 100, with the range of 95 % of the queries' resamples"
    return _SECTION.format(title, title, table)


def _with_interval(cell: Cell, measure: str) -> str:
    low, high = cell.intervals[measure]
    return f"{times_100(cell.measures[measure])} ({times_100(low)} to {times_100(high)})"


def _subsets(cell: Cell, sizes: Counter[str]) -> Markup:
    """The figures of the subsets with both means that papers print; nothing for a data set without subsets."""
    if not cell.subsets:
        return Markup()
    rows = [[name, digits(sizes[name]), times_100(value)] for name, value in cell.subsets.items()]
    mean = sum(cell.subsets.values()) / len(cell.subsets)
    weighted = sum(sizes[name] * value for name, value in cell.subsets.items()) / sizes.total()
    rows += [["mean of the subsets", "", times_100(mean)], ["mean by pairs", digits(sizes.total()), times_100(weighted)]]
    table = html.table(("subset", "pairs", "figure × 100"), rows)
    return Markup("<section><h3>{} on {}, by subset</h3>{}</section>").format(name_of(cell.system), cell.data_set, table)


def _list(title: str, examples: list[Mistake]) -> Markup:
    rows = [[Markup("<br>").join(mistake.sentences), mistake.expected, mistake.given] for mistake in examples]
    table = html.table(("sentences", "right answer", "answer"), rows) if rows else html.hint("None.")
    return _SECTION.format(title, title, table)
