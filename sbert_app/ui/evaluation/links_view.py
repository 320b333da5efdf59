"""Links under the grid to take it along: tables for a spreadsheet, a text or a paper, picture, full screen."""

from markupsafe import Markup

from sbert_app.grid.export import as_csv, as_files, as_latex, as_markdown, as_zip
from sbert_app.grid.result import Grid
from sbert_app.grid.systems import Choice
from sbert_app.ui.kit import html
from sbert_app.ui.kit.take_home import Caption, pictures, present, row

TABLE, WORDS, CHART = "eval-grid", "eval-words", "eval-chart"  # the elements of the result
NAME = "sbert-studio-evaluation"


def links(grid: Grid, choice: Choice) -> Markup:
    """The line of links."""
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
