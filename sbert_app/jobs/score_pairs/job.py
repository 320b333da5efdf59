"""The job score_pairs: score a file of pairs, and compare the scores with its labels."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import option, output, text
from sbert_app.jobs.score_pairs.scoring import score_table
from sbert_app.labelled import scored_pairs as wording
from sbert_app.labelled.pair_columns import choose_pair_columns
from sbert_app.labelled.scored_pairs import ScoredPairs, ShownPair
from sbert_app.tables.table import csv_file, skipped_summary
from sbert_app.wording import plural, rounded

MOST_LISTED = 100  # the answer lists the scores of up to this many rows
FILE = "pairs_scored.csv"


@dataclass(frozen=True)
class ScorePairsOptions:
    first_column: str = option("The column of the first sentence. Empty: guessed.", text("first column"), "")
    second_column: str = option("The column of the second sentence. Empty: guessed.", text("second column"), "")
    label_column: str = option(
        "The column of labels to compare the scores with: numbers, or two values. Empty: guessed; none: no labels.",
        text("label column"), "",
    )  # fmt: skip
    out: Path | None = option(
        "Write the file with its scores to this .csv file.", output(".csv", reason="the rows are a table"), None
    )
    model: str = model_option()


def score_pairs(call: Call, options: ScorePairsOptions) -> Steps:
    """Score each pair of a file by the cosine of its two sentences, and say how well the scores agree with its labels.

    Returns:
        rows, scored, skipped (row, reason), columns (first, second, labels), model, in_words (rows by what their score means),
        agreement (null without labels; in_words, pairs, left_out, and as fractions: for grades spearman and pearson, for two
        values average_precision, accuracy and f1 at the best threshold, majority (accuracy of always giving the more frequent
        label); low and high: 95 % interval of the first), highest, lowest, scored_higher_than_labelled and
        scored_lower_than_labelled (up to 5 pairs each: row, score, label, sentences; compared by rank), notes, seconds; scores
        (row, score) for up to 100 rows; and a csv file with one more column, the score.
    """
    table, scored = call.required_table(), None
    columns = choose_pair_columns(table.frame, options.first_column, options.second_column, options.label_column)
    for step in score_table(call.bench, table, columns, options.model, call.stop):
        scored = step.result
        if scored is None:
            yield step
    if scored is None:
        return
    content = csv_file(scored.records())
    path = call.write(options.out, FILE, lambda path: path.write_text(content, encoding="utf-8", newline=""))
    yield Outcome(_summary(scored), [*_lines(scored), *([f"-> {path}"] if path else [])], file=path)


def _summary(scored: ScoredPairs) -> dict[str, Any]:
    reading = scored.reading
    summary = scored.summary()
    summary["skipped"] = [{"row": skip.row, "reason": skip.reason} for skip in reading.skipped[:MOST_LISTED]]
    summary["notes"] = [*skipped_summary(reading.skipped), *reading.notes]
    if len(scored.scores) <= MOST_LISTED:
        pairs = zip(reading.examples.rows.tolist(), scored.scores.tolist(), strict=True)
        summary["scores"] = [{"row": row, "score": score} for row, score in pairs]
    return summary


def _lines(scored: ScoredPairs) -> list[str]:
    count, columns = len(scored.scores), scored.columns
    head = f"{count:,} {plural(count, 'pair', 'pairs')} of {scored.table.name} scored: “{columns.first}” and “{columns.second}”."
    notes = [*skipped_summary(scored.reading.skipped), *scored.reading.notes]
    if scored.labels and scored.agreement:
        agreement = [wording.sentence(scored.labels, scored.agreement), *wording.left_out(scored.labels)]
        agreement.append(wording.details(scored.labels, scored.agreement))
        titles, sides = wording.side_titles(scored.labels), scored.disagreeing()
    else:
        agreement, titles, sides = [], wording.EXTREMES, scored.extremes()
    shown = [line for title, pairs in zip(titles, sides, strict=True) if pairs for line in (f"{title}:", *map(_line, pairs))]
    return [head, *notes, *agreement, *shown]


def _line(pair: ShownPair) -> str:
    label = f"  label {pair.label}" if pair.label else ""
    return f"{rounded(pair.score)}  row {pair.row}{label}\n       {pair.sentence1}\n       {pair.sentence2}"


SCORE_PAIRS = Job("score_pairs", Needs.PAIRS, ScorePairsOptions, score_pairs, "pairs", makes_file=True)
