"""The grid as a file: csv, a Markdown or a LaTeX table."""

from collections.abc import Callable
from typing import Any

from sbert_app.grid.cell import Cell
from sbert_app.grid.result import Grid
from sbert_app.tables.writing import csv_file
from sbert_app.wording import times_100


def as_csv(grid: Grid) -> str:
    """One row for each cell, measures as fractions."""
    return csv_file([_record(grid, cell) for cell in grid])


def _record(grid: Grid, cell: Cell) -> dict[str, Any]:
    return {
        "system": cell.system, "model": cell.model, "data_set": cell.data_set, "task": cell.task, "measure": cell.measure,
        "value": round(cell.value, 6), "low": round(cell.low, 6), "high": round(cell.high, 6), "sentences": cell.sentences,
        "seconds": round(cell.seconds, 3), "day": cell.day,
    }  # fmt: skip


def as_markdown(grid: Grid) -> str:
    """A table of the main measures × 100; in bold the best and what may be as good."""
    header = ["system", *(data.name for data in grid.data_sets), *_mean_name(grid)]
    lines = [header, ["---", *("---:" for _ in header[1:])], *_rows(grid, lambda text: f"**{text}**")]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def as_latex(grid: Grid) -> str:
    """A booktabs table of the main measures × 100; in bold the best and what may be as good."""
    header = ["system", *(_escaped(data.name) for data in grid.data_sets), *_mean_name(grid)]
    rows = [header, *([_escaped(row[0]), *row[1:]] for row in _rows(grid, lambda text: rf"\textbf{{{text}}}"))]
    head, *body = (f"{' & '.join(row)} \\\\\n" for row in rows)
    columns = f"l{'r' * (len(header) - 1)}"
    return f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\\midrule\n{''.join(body)}\\bottomrule\n\\end{{tabular}}\n"


def _mean_name(grid: Grid) -> list[str]:
    """The heading of the mean; none where no two data sets have one measure."""
    count = len(grid.like)
    return [f"mean of {count}" if count < len(grid.data_sets) else "mean"] if count > 1 else []


def _rows(grid: Grid, bold: Callable[[str], str]) -> list[list[str]]:
    level, means = [grid.level(number) for number in range(len(grid.data_sets))], grid.means()
    rows = []
    for system in grid.systems:
        cells = []
        for number in range(len(grid.data_sets)):
            cell = grid.cells.get((system, number))
            text = times_100(cell.value) if isinstance(cell, Cell) else "–"
            cells.append(bold(text) if system in level[number] else text)
        mean = [times_100(means[system]) if system in means else "–" for _ in _mean_name(grid)]
        rows.append([system, *cells, *mean])
    return rows


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "#$%&_{}" else character for character in text if character not in "\\^~")
