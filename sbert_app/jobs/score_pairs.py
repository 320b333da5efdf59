"""The job score_pairs: encode each different sentence of a file of pairs once, score the pairs, compare scores with labels."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from sbert_app.evaluation.agreement import label_agreement
from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps, model_option
from sbert_app.jobs.declaring.option import option, output, text
from sbert_app.labelled import pair_columns
from sbert_app.labelled import scored_pairs as wording
from sbert_app.labelled.columns import ColumnRoles
from sbert_app.labelled.example_set import digests, trained_on
from sbert_app.labelled.examples import Reading, check_columns, read_examples
from sbert_app.labelled.pair_columns import PairColumns, PairLabels
from sbert_app.labelled.scored_pairs import ScoredPairs, ShownPair
from sbert_app.runtime import Session, Stop, Workbench, place_in_line
from sbert_app.step import Step
from sbert_app.tables import Table, csv_file, skipped_summary
from sbert_app.vectors import Rows, Vectors, distinct, unit_rows
from sbert_app.wording import amount, plural, rounded

MOST_LISTED = 100  # the answer lists the scores of up to this many rows
FILE = "pairs_scored.csv"
SCORING = "scoring"  # job name
BLOCK = 100_000  # pairs multiplied at a time: bounds memory
Usable = tuple[Reading, PairLabels | None]  # the rows of a file that can be scored, and their labels


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
        (row, score; null for more than 100 rows: they are in the file); and a csv file with one more column, the score.
    """
    table, scored = call.required_table(), None
    columns = pair_columns.choose_pair_columns(table.frame, options.first_column, options.second_column, options.label_column)
    for step in _steps(call.bench, table, _read(call.bench, table, columns), options.model, call.stop):
        if (scored := step.result) is None:
            yield step
    if scored is None:
        return
    records, sign = scored.records, table.form.delimiter
    path = call.write(options.out, FILE, lambda path: path.write_text(csv_file(records(), sign), encoding="utf-8", newline=""))
    yield Outcome(_summary(scored), [*_lines(scored), *([f"-> {path}"] if path else [])], file=path)


def _summary(scored: ScoredPairs) -> dict[str, Any]:
    reading = scored.reading
    summary = scored.summary()
    summary["skipped"] = [{"row": skip.row, "reason": skip.reason} for skip in reading.skipped[:MOST_LISTED]]
    summary["notes"] = [*skipped_summary(reading.skipped), *reading.notes]
    pairs = zip(reading.examples.rows.tolist(), scored.scores.tolist(), strict=True)
    listed = len(scored.scores) <= MOST_LISTED
    return summary | {"scores": [{"row": row, "score": score} for row, score in pairs] if listed else None}


def _lines(scored: ScoredPairs) -> list[str]:
    count, columns = len(scored.scores), scored.columns
    head = f"{count:,} {plural(count, 'pair', 'pairs')} of {scored.table.name} scored: “{columns.first}” and “{columns.second}”."
    if scored.labels and scored.agreement:
        agreement = [wording.sentence(scored.labels, scored.agreement), *wording.left_out(scored.labels)]
        agreement.append(wording.details(scored.labels, scored.agreement))
        titles, sides = wording.side_titles(scored.labels), scored.disagreeing()
    else:
        agreement, titles, sides = [], wording.EXTREMES, scored.extremes()
    shown = [line for title, pairs in zip(titles, sides, strict=True) if pairs for line in (f"{title}:", *map(_line, pairs))]
    return [head, *skipped_summary(scored.reading.skipped), *scored.reading.notes, *agreement, *shown]


def _line(pair: ShownPair) -> str:
    label = f"  label {pair.label}" if pair.label else ""
    return f"{rounded(pair.score)}  row {pair.row}{label}\n       {pair.sentence1}\n       {pair.sentence2}"


@dataclass(frozen=True)
class PairTable:
    """An uploaded table, kept in the session, so that other columns can be chosen. model: that was last asked to score it."""

    table: Table
    model: str = ""


def open_pairs(session: Session, table: Table) -> PairColumns:
    """Keep a table in the session. Returns its likely columns."""
    columns = pair_columns.guess_pair_columns(table.frame)
    session.put(PairTable(table))
    return columns


def close_pairs(session: Session) -> None:
    """Remove the session's file and its scores."""
    session.stop(SCORING)
    session.drop(PairTable)
    session.drop(ScoredPairs)


def score_opened(bench: Workbench, session: Session, columns: PairColumns, model: str) -> Iterator[Step[ScoredPairs]]:
    """Score the session's file by these columns. If only the labels are others than before, the scores are kept.

    The last step has the result or is stopped; none comes after another scoring has begun. Raises UserError for a missing column,
    labels that cannot be compared, or a file without a usable row.
    """
    opened = session.require(PairTable, "There is no file of pairs yet. Upload one, or open the example.")
    usable = _read(bench, opened.table, columns)
    session.put(replace(opened, model=model))
    stop = session.begin(SCORING)
    for step in _steps(bench, opened.table, usable, model, stop, session.get(ScoredPairs)):
        if stop.revoked or (step.result and not session.put(step.result, stop)):
            return
        yield step


def _read(bench: Workbench, table: Table, columns: PairColumns) -> Usable:
    """Read the usable rows, and their labels if a column of labels is chosen."""
    reading = read_examples(table, ColumnRoles("positives", columns.sentences), bench.settings.limits, repeats=True, least=1)
    if not columns.labels:
        return reading, None
    check_columns(table, [*columns.sentences, columns.labels])
    cells = dict(zip(table.rows.tolist(), table.frame[columns.labels].tolist(), strict=True))
    labels, same = [cells[row] for row in reading.examples.rows.tolist()], pair_columns.entailment(table.frame, columns.labels)
    return reading, pair_columns.read_pair_labels(columns.labels, labels, same)


def _steps(
    bench: Workbench, table: Table, usable: Usable, model: str, stop: Stop, earlier: ScoredPairs | None = None
) -> Iterator[Step[ScoredPairs]]:
    """Wait in the queue and score, unless an earlier result has these scores; then compare with the labels."""
    (reading, labels), scored = usable, earlier
    if scored is None or scored.table is not table or (scored.model, scored.reading.mapping) != (model, reading.mapping):
        with bench.lines.corpora.join(stop) as waiting:
            yield from (Step(place_in_line(before, "job")) for before in waiting)
            yield Step("Loading the model")
            encoder = bench.registry.encoder(model)
            scale, start, done, count = bench.examples.scale(encoder), time.perf_counter(), 0, len(reading.examples)
            unique, position = distinct(list(chain(*reading.examples.sentences)))
            embeddings = np.empty((len(unique), encoder.dim), dtype=np.float32)
            for rows, vectors in bench.device.stream(encoder, unique):
                embeddings[rows] = vectors
                done += len(rows)
                if stop.is_set():
                    yield Step("Stopped", done, len(unique), stopped=True)
                    return
                yield Step("Encoding", done, len(unique), time.perf_counter() - start)
            scores = _cosines(unit_rows(embeddings), position[:count], position[count:])
            if seen := int(np.isin(digests(reading.examples), trained_on(encoder.folder)).sum()):
                note = f"{model} was trained on {seen:,} of these {amount(count, 'pair')}: on others expect less."
                reading = replace(reading, notes=(*reading.notes, note))
        scored = ScoredPairs(table, reading, scores, scale, model, time.perf_counter() - start)
    yield Step("Comparing with the labels" if labels else "Sorting")
    agreement = None
    if labels:
        judged, groups = labels.labelled, reading.examples.groups
        agreement = label_agreement(labels.kind, scored.scores[judged].astype(np.float64), labels.gold[judged], groups[judged])
    yield Step("Scored", seconds=scored.seconds, result=replace(scored, labels=labels, agreement=agreement))


def _cosines(unit: Vectors, first: Rows, second: Rows) -> Vectors:
    """The cosine of unit rows first[i] and second[i], (n,)."""
    blocks = [slice(start, start + BLOCK) for start in range(0, len(first), BLOCK)]
    return np.concatenate([np.einsum("nd,nd->n", unit[first[block]], unit[second[block]]) for block in blocks])


SCORE_PAIRS = Job("score_pairs", Needs.PAIRS, ScorePairsOptions, score_pairs, "pairs", makes_file=True)
