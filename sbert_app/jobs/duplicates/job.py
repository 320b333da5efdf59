"""The job duplicates: near-duplicate sentences of a corpus."""

from dataclasses import dataclass
from pathlib import Path

from sbert_app.corpus.duplicates import COPIES, SIMILAR
from sbert_app.corpus.findings import Findings, Mined
from sbert_app.corpus.mining import FLOOR
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, cross_encoder_option
from sbert_app.jobs.declaring.option import choice, number, option, output, upload, whole
from sbert_app.jobs.duplicates.mining import MOST_LISTED, findings_of, mine, score_borderline
from sbert_app.jobs.duplicates.overlap import compare_file
from sbert_app.models.files.trained_for import how_to_read
from sbert_app.step import Step
from sbert_app.storage import writing_to
from sbert_app.tables import Table

DEFAULT_THRESHOLD = 0.85  # a cosine


@dataclass(frozen=True)
class DuplicatesOptions:
    threshold: float = option(f"Lowest cosine of two duplicates, {FLOOR:g} to 1.", number("threshold", FLOOR, 1), DEFAULT_THRESHOLD)
    top: int = option("Number of pairs to list.", whole("number of pairs", 0, MOST_LISTED), 100)
    against: Table | None = option("Another file: also report its rows that duplicate rows of the corpus.", upload(), None)
    clean: Path | None = option("Write the rows to keep to this .csv file.", output(".csv", reason="the rows are a table"), None)
    remove: str = option(
        "Rows that --clean leaves out: 'copies' (exact copies only) or 'similar' (similar rows too).",
        choice("rows to remove", (COPIES, SIMILAR)), SIMILAR, endpoint=False,
    )  # fmt: skip
    cross_encoder: str = cross_encoder_option("", "Also score the pairs nearest to the threshold, up to 100; empty for none.")


def duplicates(call: Call, options: DuplicatesOptions) -> Steps:
    """Find duplicates in a corpus: the closest pairs, and groups with the row to keep. Another threshold needs no new comparison.

    Returns:
        pairs (row1, row2 counted from 1, score, both sentences; best first), groups (representative: the row to keep, rows,
        size), rows, redundant (rows that could be removed), exact_copies (of a text),
        differing_copies and differing_columns (copies with other values there), threshold, floor (no pairs below it are kept),
        exact, recall (share of pairs found, for corpora too large for exact mining), overlap (with another file), second_opinion
        (with a cross-encoder: its name, what it was trained for, how to read its scores, and the pairs nearest to the threshold
        with them), seconds by stage.
    """
    if call.session.get(Mined) is None:
        for step in mine(call.bench, call.session):
            yield Step("Comparing, per cent", round(100 * step.done / max(step.total, 1)), 100)
        if call.session.get(Mined) is None:
            return
    findings = findings_of(call.session, options.threshold, options.remove)
    summary, lines = findings.summary(options.top), _lines(findings, options.top)
    if options.against is not None:
        for compared in compare_file(call.bench, call.session, options.against):
            yield compared
        if compared.result is None:
            return
        overlap = summary["overlap"] = compared.result.summary(options.threshold)
        lines.append(f"{overlap['found']:,} of {overlap['rows']:,} rows of {overlap['file']} duplicate rows of the corpus.")
    if options.cross_encoder:
        pairs, opinion = score_borderline(call.bench, call.session, options.threshold, cross_encoder=options.cross_encoder)
        summary["second_opinion"] = opinion.summary(pairs)
        lines.append(f"Pairs nearest to the threshold, by {opinion.model}. {how_to_read(opinion.trained_for, opinion.bounds)}")
        lines += [f"{p.score:.3f}  {p.cross_score:.3f}  rows {p.row1} and {p.row2}" for p in pairs]
    if options.clean:
        with writing_to(options.clean, "clean"):
            options.clean.write_text(findings.cleaned_file(), encoding="utf-8", newline="")
        lines.append(f"{findings.staying:,} rows to keep -> {options.clean}.{findings.unread}")
    yield Outcome(summary, lines)


def _lines(findings: Findings, top: int) -> list[str]:
    grouping = findings.grouping
    differing, columns = findings.differing
    but = f" ({differing:,} differ in {', '.join(columns)})" if differing else ""
    head = (
        f"{findings.copies:,} exact copies{but} among {len(findings.corpus):,} rows; {findings.similar:,} more rows are similar to "
        f"another (cosine >= {findings.threshold:.3g}); {len(grouping):,} groups."
    )
    pairs = [
        f"{pair.score:.3f}  rows {pair.row1} and {pair.row2}\n       {pair.sentence1}\n       {pair.sentence2}"
        for pair in findings.pairs(top)
    ]
    return [head, *pairs]


DUPLICATES = Job("duplicates", Needs.CORPUS, DuplicatesOptions, duplicates, "duplicates")
