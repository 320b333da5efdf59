"""The command on duplicates."""

from pathlib import Path
from typing import Annotated

import typer

from sbert_app.cli.common import Column, File, Json, Model, Progress, app, existing, index_file, services, show
from sbert_app.corpus.findings import Compared, Findings
from sbert_app.errors import UserError
from sbert_app.models.registry import DEFAULT_ENCODER
from sbert_app.services.duplicates import DEFAULT_THRESHOLD, MOST_LISTED, DuplicatesService, checked_threshold
from sbert_app.services.overlap import OverlapService
from sbert_app.services.validation import whole_number
from sbert_app.tables.writing import to_csv


@app.command()
def duplicates(
    file: File,
    top: Annotated[int, typer.Option("--top", help="Number of pairs to list.")] = 20,
    threshold: Annotated[float, typer.Option("--threshold", help="Cosine from which two are duplicates.")] = DEFAULT_THRESHOLD,
    column: Column = None,
    model: Model = DEFAULT_ENCODER,
    against: Annotated[Path | None, typer.Option("--against", help="Which rows of this file stand in FILE already?")] = None,
    clean: Annotated[Path | None, typer.Option("--clean", help="Write the rows to keep to this .csv.")] = None,
    as_json: Json = False,
) -> None:
    """Find what a file says twice: the closest pairs, groups with the row to keep, a file without the others."""
    top, threshold = whole_number(top, "number of pairs", 0, MOST_LISTED), checked_threshold(threshold)
    if clean and clean.suffix != ".csv":
        raise UserError(f"'{clean}' must end in .csv: the rows to keep are written as a table.")
    other = existing(against) if against else None
    studio = services()
    session_id, seconds = index_file(studio, file, column, model)
    findings = _find(studio.duplicates, session_id, threshold)
    summary = findings.summary(top)
    summary["seconds"] = {"read and index": seconds} | findings.seconds
    lines = _lines(findings, top)
    if other:
        compared = _compare(studio.overlap, session_id, other)
        summary["overlap"] = compared.summary(threshold)
        lines.append(f"{summary['overlap']['found']:,} of {len(compared.other):,} rows of {other} stand in {file}.")
    if clean:
        _write(findings, clean)
        lines.append(f"{len(findings.corpus) - findings.grouping.redundant:,} rows to keep -> {clean}")
    show(summary, as_json, lines)


def _find(service: DuplicatesService, session_id: str, threshold: float) -> Findings:
    progress = Progress("Comparing, percent", 100)
    for event in service.find(session_id):
        progress.send(round(event.share * 100))
    progress.close()
    return service.findings(session_id, threshold)


def _compare(service: OverlapService, session_id: str, other: Path) -> Compared:
    compared, progress = None, None
    for event in service.compare(session_id, other):
        progress = progress or Progress("Comparing with the other file", event.total)
        progress.send(event.done)
        compared = event.compared
    if progress:
        progress.close()
    if compared is None:  # only a stopped comparison ends without one, and nothing stops this one
        raise RuntimeError("the comparison ended without a result")
    return compared


def _lines(findings: Findings, top: int) -> list[str]:
    grouping = findings.grouping
    head = (
        f"{grouping.redundant:,} of {len(findings.corpus):,} rows could go: {len(grouping):,} groups at cosine "
        f">= {findings.threshold:.3g}; {findings.copies:,} exact copies."
    )
    pairs = [
        f"{pair.score:.3f}  rows {pair.row1} and {pair.row2}\n       {pair.sentence1}\n       {pair.sentence2}"
        for pair in findings.pairs(top)
    ]
    return [head, *pairs]


def _write(findings: Findings, path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="") as stream:
            stream.write(to_csv(findings.cleaned()))
    except OSError as error:
        raise UserError(f"Cannot write '{path}': {error.strerror}. Choose another --clean.") from error
