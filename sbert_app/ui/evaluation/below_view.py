"""Render what is below the grid: a chart of quality by speed, links to take it all home, and the errors behind a figure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from sbert_app.grid.cell import Cell, mistakes
from sbert_app.grid.data_set import Mistake
from sbert_app.grid.export import as_csv, as_files, as_latex, as_markdown, as_zip
from sbert_app.grid.result import ALL_PAIRS, Grid, Place
from sbert_app.grid.systems import Choice
from sbert_app.ui.evaluation.grid_view import MEASURES, name_of
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, pictures, present, row
from sbert_app.wording import amount, digits, times_100

# Above and to the right first: the line comes to a point from above and leaves it to the right.
POSITIONS = ("top right", "bottom left", "bottom right", "top left", "middle right", "middle left", "top center", "bottom center")
WIDTH, HEIGHT = 640, 250  # of the plot on a narrow page, in pixels
LETTER, LINE, DOT = 7, 15, 8  # width of a letter, height of a line, half a point
PAIRS = ALL_PAIRS * (ALL_PAIRS - 1) // 2
Point = tuple[float, float, str]  # speed, mean × 100, name
Box = tuple[float, float, float, float]
TABLE, HOW, WORDS, CHART = "eval-grid", "eval-how", "eval-words", "eval-chart"  # the elements of the result
NAME = "sbert-studio-evaluation"
MOST = 8  # examples in each list
RANKINGS = {"ndcg_at_10": "nDCG@10", "mrr_at_10": "MRR@10", "recall_at_100": "recall@100"}
_SECTION = Markup('<section><h3>{0}</h3><div class="scroll" tabindex="0" role="region" aria-label="{0}">{1}</div></section>')


def chart(grid: Grid, choice: Choice) -> html.Figure:
    """A point for each system, its mean × 100 by its speed, and a line through those that no other beats in both.

    Speed: that of 10,000 sentences all against all, or without such figures that on the data sets.
    """
    import plotly.graph_objects as go

    means = grid.means()
    seconds = {system: grid.all_pairs_seconds(system) for system in means if grid.speed(system)}
    extrapolated = all(seconds.values())
    speeds = {system: PAIRS / needed if extrapolated and needed else grid.speed(system) for system, needed in seconds.items()}
    unit = "pairs a second" if extrapolated else f"{grid.unit} a second"
    axis = f"{unit}, 10,000 sentences all against all<br>(extrapolated, log scale)" if extrapolated else f"{unit} (log scale)"
    points = sorted((speed, 100 * means[system], name_of(system, choice.model)) for system, speed in speeds.items())
    # No other point is both faster and better.
    front = [p for p in points if not any(o[0] >= p[0] and o[1] >= p[1] and o[:2] != p[:2] for o in points)]
    ends = [math.log10(x) for x, _, _ in points]
    left, right = min(ends, default=0) - 0.4, max(ends, default=0) + 0.4
    figure = go.Figure()
    line = {"mode": "lines", "line": {"color": html.TEAL, "width": 1.5, "shape": "hv"}, "hoverinfo": "skip"}
    figure.add_scatter(x=[x for x, _, _ in front], y=[y for _, y, _ in front], **line)
    figure.add_scatter(
        x=[x for x, _, _ in points], y=[y for _, y, _ in points], mode="markers+text", cliponaxis=False,
        textposition=_beside(points, left, right),
        text=[html.as_text(name) for _, _, name in points],
        marker={"size": 11, "color": [html.TEAL if point in front else html.MIDDLE for point in points]},
        hovertext=[f"{html.as_text(name)}: {times_100(y / 100)}, {digits(x)} {unit}" for x, y, name in points],
        hoverinfo="text",
    )  # fmt: skip
    html.quiet(figure, 360)
    figure.update_layout(showlegend=False, hovermode="closest", margin={"t": 30, "r": 40})
    figure.update_xaxes(title=axis, type="log", range=[left, right], dtick=1, gridcolor=html.GRID, zeroline=False)
    like = [grid.data_sets[number] for number in grid.like]
    over = ", mean" if len(like) > 1 else f", {html.as_text(like[0].name)}" if like else ""
    figure.update_yaxes(title=f"{MEASURES[like[0].measure] if like else ''} × 100{over}", gridcolor=html.GRID, zeroline=False)
    return figure


def _beside(points: Sequence[Point], left: float, right: float) -> list[str]:
    """For each point the first of POSITIONS where its name covers no point, earlier name or edge. left, right: powers of ten."""
    heights = [y for _, y, _ in points]
    tall = HEIGHT / max(1.0, max(heights, default=0) - min(heights, default=0))
    places = [((math.log10(x) - left) * WIDTH / (right - left), y * tall) for x, y, _ in points]
    edges = [(-math.inf, 0.0, -math.inf, math.inf), (WIDTH, math.inf, -math.inf, math.inf)]
    taken: list[Box] = edges + [(x - DOT, x + DOT, y - DOT, y + DOT) for x, y in places]
    chosen = []
    for (x, y), (_, _, name) in zip(places, points, strict=True):
        boxes = {position: _box(x, y, LETTER * len(name), position) for position in POSITIONS}
        free = next((position for position, box in boxes.items() if not any(_overlap(box, other) for other in taken)), POSITIONS[0])
        taken.append(boxes[free])
        chosen.append(free)
    return chosen


def _box(x: float, y: float, width: float, position: str) -> Box:
    """Left, right, bottom and top of a name at its point, in pixels."""
    vertical, horizontal = position.split()
    left = {"right": x + DOT, "left": x - DOT - width, "center": x - width / 2}[horizontal]
    middle = y + {"top": LINE, "middle": 0.0, "bottom": -LINE}[vertical]
    return left, left + width, middle - LINE / 2, middle + LINE / 2


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def links(grid: Grid, choice: Choice) -> Markup:
    results = as_files(grid)
    files = html.links(
        html.link(f"{NAME}.csv", "csv", as_csv(grid), "text/csv"),
        html.link(f"{NAME}.md", "Markdown", as_markdown(grid), "text/markdown"),
        html.link(f"{NAME}.tex", "LaTeX", as_latex(grid), "text/x-tex"),
        *([html.link(f"{NAME}-mteb.zip", "mteb", as_zip(results), "application/zip")] if results else []),
    )
    title = f"{amount(len(grid.systems), 'system')} on {amount(len(grid.data_sets), 'data set')}"
    caption = Caption.of(title, choice.model, day=max((cell.day for cell in grid.measured.values()), default=""))
    return row(caption, [TABLE, WORDS, HOW, CHART], files, pictures(CHART, NAME) if grid.means() else Markup(), present())


def errors(grid: Grid, choice: Choice, place: Place) -> Markup:
    data, model = grid.data_sets[place[1]], choice.model
    figures = grid.figures(place[1])
    cell = figures.pop(place[0])
    parts = [_list(f"{name_of(place[0], model)} on {data.name}: the worst errors", mistakes(data, cell, MOST))]
    if figures:
        name, other = next(iter(figures.items()))
        parts.append(_list(f"{data.name}: where {name_of(name, model)} does better", mistakes(data, cell, MOST, better=other)))
    parts += [_measures(data.name, grid.figures(place[1]), model), _subsets(cell, Counter(data.subsets), model)]
    return Markup('<div class="eval-errors">{}</div>').format(Markup().join(parts))


def _measures(name: str, measured: Mapping[str, Cell], model: str) -> Markup:
    """All measures of rankings with their intervals, a line for each system; nothing for other data."""
    ranked = {system: cell for system, cell in measured.items() if cell.intervals}
    if not ranked:
        return Markup()
    text, rows = "{} ({} to {})", []
    for system, cell in ranked.items():
        figures = [(cell.measures[measure], *cell.intervals[measure]) for measure in RANKINGS]
        rows.append([name_of(system, model), *(text.format(*map(times_100, figure)) for figure in figures)])
    title = f"{name}: all measures × 100, with the range of 95 % of the queries' resamples"
    return _SECTION.format(title, html.table(("system", *RANKINGS.values()), rows))


def _subsets(cell: Cell, sizes: Counter[str], model: str) -> Markup:
    """The figures of the subsets with both means that papers print; nothing for a data set without subsets."""
    if not cell.subsets:
        return Markup()
    rows = [[name, digits(sizes[name]), times_100(value)] for name, value in cell.subsets.items()]
    mean = sum(cell.subsets.values()) / len(cell.subsets)
    weighted = sum(sizes[name] * value for name, value in cell.subsets.items()) / sizes.total()
    rows += [["mean of the subsets", "", times_100(mean)], ["mean by pairs", digits(sizes.total()), times_100(weighted)]]
    table = html.table(("subset", "pairs", "figure × 100"), rows)
    return Markup("<section><h3>{} on {}, by subset</h3>{}</section>").format(name_of(cell.system, model), cell.data_set, table)


def _list(title: str, examples: list[Mistake]) -> Markup:
    rows = [[Markup("<br>").join(mistake.sentences), mistake.expected, mistake.given] for mistake in examples]
    return _SECTION.format(title, html.table(("sentences", "right answer", "answer"), rows) if rows else html.hint("None."))
