"""The grid as a file: csv, Markdown, LaTeX, or mteb's result cache with one file for each system and data set; the paper's figures.

In mteb's files is only what mteb measures in the same way: of labelled pairs the average precision, as its best threshold is sought
otherwise; of sentences with classes nothing, as its classifier is another. `mteb.ResultCache(X)` reads what is written to X.
"""

import io
import json
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sbert_app.errors import UserError
from sbert_app.evaluation import paper
from sbert_app.grid.cell import Cell
from sbert_app.grid.classes import Classes
from sbert_app.grid.data_set import CLASSES, PAIR_CLASSES, RETRIEVAL, DataSet
from sbert_app.grid.ranking import RANKING
from sbert_app.grid.result import SEEN_MARK, Grid
from sbert_app.storage import writing_to
from sbert_app.tables import csv_file
from sbert_app.tables.collecting import distinct_names
from sbert_app.wording import times_100

MEASURES = {  # mteb's names of the measures of a task; the first is its main score
    "scored": {"spearman": "spearman", "pearson": "pearson"},
    "labelled": {"average_precision": "similarity_ap"},
    RETRIEVAL: {name: name for name in RANKING},
}
TASKS = {"STSb": "STSBenchmark"}  # mteb's names of the paper's data sets, where they differ
SCIFACT = (300, 5_183)  # its queries and documents
ENGLISH, UNKNOWN = "eng-Latn", "und-Zyyy"  # languages with their script
ORGANISATION, REVISION = "sbert-studio", "no_revision_available"  # the second is mteb's own word
MADE = (1980, 1, 1, 0, 0, 0)  # the time of all files in the zip, so that equal figures give equal zips


def check_known(grid: Grid) -> None:
    """Raise UserError if mteb measures none of the grid's data sets, before they are measured for it."""
    if not any(data.task in MEASURES for data in grid.data_sets):
        raise UserError("mteb has no such figures: give scored pairs, labelled pairs, or queries with documents.")


def as_files(grid: Grid) -> dict[str, str]:
    """The content of each file by its path. Empty for a grid without a figure that mteb knows."""
    # mteb's name of one of its own data sets, else ours; numbered if another has it already
    files, tasks = {}, distinct_names([_known(data) or _plain(data.name) for data in grid.data_sets])
    for (_, number), cell in grid.measured.items():
        if cell.task in MEASURES:
            model, data = _plain(" ".join(dict.fromkeys((cell.system, cell.model)))), grid.data_sets[number]
            folder = f"results/{ORGANISATION}__{model}/{REVISION}"  # as mteb has it
            files[f"{folder}/model_meta.json"] = _json({"name": f"{ORGANISATION}/{model}", "revision": REVISION})
            files[f"{folder}/{tasks[number]}.json"] = _json(_result(cell, data, tasks[number]))
    return files


def as_zip(files: Mapping[str, str]) -> bytes:
    """The files in a zip, in alphabetical order."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            archive.writestr(zipfile.ZipInfo(path, MADE), files[path], zipfile.ZIP_DEFLATED)
    return content.getvalue()


def write_files(grid: Grid, folder: Path) -> int:
    """Write the files below a folder, over those of the same name. Returns how many figures. Raises UserError if that fails."""
    files = as_files(grid)
    with writing_to(folder, "mteb"):
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content, encoding="utf-8")
    return sum(not path.endswith("model_meta.json") for path in files)


def _result(cell: Cell, data: DataSet, task: str) -> dict[str, Any]:
    """A figure as mteb's TaskResult. Without a version, as mteb measured nothing."""
    measures = {theirs: cell.measures[ours] for ours, theirs in MEASURES[cell.task].items()}
    scores = {**measures, "main_score": cell.value, "hf_subset": "default", "languages": [ENGLISH if _known(data) else UNKNOWN]}
    return {
        "dataset_revision": data.digest, "task_name": task, "mteb_version": None, "scores": {"test": [scores]},
        "evaluation_time": cell.seconds, "kg_co2_emissions": None, "date": f"{cell.day}T00:00:00",
    }  # fmt: skip


def _known(data: DataSet) -> str:
    """mteb's name of one of its own data sets, found by name and size; "" for others."""
    if name := in_paper(data):
        return TASKS.get(name, name)
    sizes = tuple(map(len, data.columns))
    return "SciFact" if data.task == RETRIEVAL and sizes == SCIFACT and "scifact" in data.name.lower() else ""


def _plain(name: str) -> str:
    """A name that can be a file's on any system."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.") or "data"


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2) + "\n"


def in_paper(data: DataSet) -> str:
    """The data set's name in the paper, "" if it is none of the paper's."""
    if isinstance(data, Classes) and data.quick:
        return ""  # learnt in another way than the paper's
    known = {"scored": paper.PAIRS, CLASSES: paper.SENTENCES, PAIR_CLASSES: paper.PAIRS_OF_CLASSES}.get(data.task, ())
    for pattern, size, name in known:
        if re.fullmatch(pattern, data.name, re.IGNORECASE) and size * (1 - paper.MISSING) <= data.size <= size:
            return name
    return ""


def published(data_sets: tuple[DataSet, ...]) -> dict[str, list[float | None]]:
    """The paper's systems with their figures × 100 for these data sets, None where the paper has none; empty without any."""
    names = [in_paper(data) for data in data_sets]
    rows = {system: [figures.get(name) for name in names] for system, figures in paper.TABLES_1_AND_5.items()}
    if "STSb" in names:
        rows |= {system: [figure if name == "STSb" else None for name in names] for system, figure in paper.TABLE_2.items()}
    return rows if any(names) else {}


def as_csv(grid: Grid) -> str:
    """One row for each cell, measures as fractions."""
    digits = {"value": 6, "low": 6, "high": 6, "seconds": 3}
    columns = ("system", "model", "data_set", "task", "measure", "value", "low", "high", "sentences", "seconds", "day", "seen")
    cells = ({name: getattr(cell, name) for name in columns} for cell in grid.measured.values())
    return csv_file([cell | {name: round(cell[name], places) for name, places in digits.items()} for cell in cells])


def as_markdown(grid: Grid) -> str:
    """A table of the main measures × 100 with their 95 % intervals; in bold the best and what may be as good."""
    header = ["system", *(data.name for data in grid.data_sets), *_mean_name(grid)]
    lines = [header, ["---", *("---:" for _ in header[1:])], *_rows(grid, "**{}**", " ({} to {})")]
    table = "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)
    return "\n".join((table, *(f"{note}  " for note in _notes(grid)), ""))


def as_latex(grid: Grid) -> str:
    """A booktabs table of the main measures × 100 with their 95 % intervals; in bold the best and what may be as good."""
    header = ["system", *(_escaped(data.name) for data in grid.data_sets), *_mean_name(grid)]
    measured = _rows(grid, r"\textbf{{{}}}", r" {{\scriptsize ({}--{})}}")
    rows = [header, *([_escaped(system), *(re.sub(r"−([\d.]+)", r"$-\1$", text) for text in cells)] for system, *cells in measured)]
    head, *body = (f"{' & '.join(row)} \\\\\n" for row in rows)
    columns = f"l{'r' * (len(header) - 1)}"
    table = f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\\midrule\n{''.join(body)}\\bottomrule\n\\end{{tabular}}\n"
    notes = "\\\\\n".join(map(_escaped, _notes(grid)))
    return f"{table}\n{{\\footnotesize {notes}}}\n".replace(SEEN_MARK, r"$^\dagger$").replace("×", r"$\times$")


def _mean_name(grid: Grid) -> list[str]:
    """The heading of the mean; none where no two data sets have one measure."""
    count = len(grid.like)
    return [f"mean of {count}" if count < len(grid.data_sets) else "mean"] if count > 1 else []


def _notes(grid: Grid) -> list[str]:
    """What the figures are, what the mean is of, and which systems were trained on what they are measured on."""
    measures: dict[str, list[str]] = {}
    for data in grid.data_sets:
        measures.setdefault(data.measure.replace("_", " "), []).append(data.name)
    named = "; ".join(f"{measure}: {', '.join(names)}" for measure, names in measures.items())
    mean = [f"Mean: of {', '.join(grid.data_sets[number].name for number in grid.like)}."] if _mean_name(grid) else []
    return [f"× 100 with 95 % intervals. {named}. Bold: the best, and what may be as good.", *mean, *grid.seen()]


def _rows(grid: Grid, bold: str, interval: str) -> list[list[str]]:
    numbers = range(len(grid.data_sets))
    level = [grid.level(number) for number in numbers]

    def figure(system: str, number: int) -> str:
        if (cell := grid.measured.get((system, number))) is None:
            return "–"
        form, mark = bold if system in level[number] else "{}", SEEN_MARK if grid.was_seen(cell, number) else ""
        return form.format(times_100(cell.value)) + mark + interval.format(times_100(cell.low), times_100(cell.high))

    means = {system: times_100(mean) for system, mean in grid.means().items()}
    return [
        [system, *(figure(system, number) for number in numbers), *(means.get(system, "–") for _ in _mean_name(grid))]
        for system in grid.systems
    ]


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "#$%&_{}" else character for character in text if character not in "\\^~")
