"""Read scored pairs, labelled pairs, triplets or pairs that belong together from a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.corpus.reader import existing
from sbert_app.errors import UserError
from sbert_app.labelled.columns import BLANKS, ENTAILMENT, NO_GOLD, ColumnRoles, guess_positive, number, says_so
from sbert_app.labelled.example_set import Examples as Examples
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Skip, Table, read_table
from sbert_app.wording import amount, row_list

YES, NO = ("yes", "y", "true", "t", "1", "1.0"), ("no", "n", "false", "f", "0", "0.0")
NOUNS = {"scored": "score", "labelled": "label"}
LISTS, SEEN = ('["', "[{", "{"), 50  # how a cell begins that is no text; rows in which it is looked for
FAR = 10  # times the range of 95 % of the scores
LEAST_ROWS = 20  # fewer cannot be split and evaluated
MOST_LABELS = 50
GENERAL = ASSETS / "evaluation" / "everyday_pairs.csv"
Targets = tuple[NDArray[np.float64], tuple[str, ...], int, tuple[float, float]]


@dataclass(frozen=True)
class Reading:
    """The examples read from a table, with skipped rows and notes to show."""

    name: str
    mapping: ColumnRoles
    examples: Examples
    skipped: tuple[Skip, ...]
    notes: tuple[str, ...]


def read_examples(table: Table, mapping: ColumnRoles, limits: Limits, repeats: bool = False, least: int = LEAST_ROWS) -> Reading:
    """Read a table's examples. repeats: keep repeated rows. Raises UserError for a missing column or fewer than `least` rows."""
    check_columns(table, [*mapping.sentences, *([mapping.target] if mapping.target else [])])
    skipped, positions = list(table.skipped), []
    columns = [table.frame[name].str.strip().tolist() for name in mapping.sentences]
    for name, texts in zip(mapping.sentences, columns, strict=True):
        if (filled := [*filter(None, texts[:SEEN])]) and all(text.startswith(LISTS) for text in filled):
            raise UserError(f"The column '{name}' of '{table.name}' holds lists, not texts. Write one row for each text of a list.")
    raw = table.frame[mapping.target].str.split().str.join(" ").tolist() if mapping.target else [""] * len(table.rows)
    spellings = raw
    if mapping.kind == "labelled":  # of labels that mean the same, the first spelling
        answers = all(label.casefold() in {*YES, *NO} for label in raw if label.casefold() not in BLANKS)
        first: dict[str, str] = {}
        raw = [first.setdefault(meaning(label, answers), label) for label in raw]
    seen: dict[tuple[str, ...], int] = {}
    for position, row in enumerate(table.rows.tolist()):
        cells = tuple(column[position] for column in columns)
        reason = _problem(cells, raw[position], mapping)
        if not reason and not repeats and seen.setdefault((*cells, raw[position]), row) != row:
            reason = "repeats an earlier row"
        if reason:
            skipped.append(Skip(row, reason))
        else:
            positions.append(position)
    _check_enough(table, mapping, positions, skipped, least)
    targets, labels, positive, bounds = _targets([raw[position] for position in positions], mapping, table.name)
    most = limits.sentence_characters
    sentences = tuple([column[position][:most] for position in positions] for column in columns)
    examples = Examples(mapping.kind, sentences, targets, table.rows[positions], labels, positive, bounds)
    skipped.sort(key=lambda skip: skip.row)
    cut = [int(table.rows[i]) for i in positions if any(len(column[i]) > most for column in columns)]
    remarks = _remarks(examples, mapping, [spellings[position] for position in positions], cut, most)
    return Reading(table.name, mapping, examples, tuple(skipped), (*table.notes, *remarks))


@cache
def general_pairs() -> Examples:
    """Everyday sentences in scored pairs, written for this project: what a model should still tell apart after any training."""
    table = read_table(GENERAL, Limits())
    return read_examples(table, ColumnRoles("scored", ("sentence1", "sentence2"), "score"), Limits()).examples


def check_columns(table: Table, chosen: Sequence[str]) -> None:
    """Raise UserError for a column that the table does not have, or that is chosen twice."""
    if chosen:
        existing(table, chosen)
    for one, other in combinations(chosen, 2):
        if one == other:
            listed = ", ".join(table.frame.columns)
            raise UserError(f"The column '{one}' is chosen twice. Choose a different one for each part. Its columns are: {listed}.")


def meaning(label: str, answers: bool = False) -> str:
    """What labels have in common that differ in capitals, as numbers, or, where all are answers, in the word for yes or no."""
    label = label.casefold()
    if answers and label in {*YES, *NO}:
        return "yes" if label in YES else "no"
    value = number(label)
    return label if value is None else f"{value:g}"


def _problem(cells: Sequence[str], target: str, mapping: ColumnRoles) -> str:
    if not all(cells):
        return "blank sentence"
    if mapping.kind == "scored":
        value = number(target)
        if value is None:
            return "score is not a number" if target else "blank score"
        return "" if math.isfinite(value) else "score is not finite"
    blank = mapping.kind == "labelled" and (target.casefold() in BLANKS or (target, mapping.positive) == (NO_GOLD, ENTAILMENT))
    return "blank label" if blank else ""


def _check_enough(table: Table, mapping: ColumnRoles, positions: list[int], skipped: list[Skip], least: int) -> None:
    if len(positions) >= least:
        return
    reasons = ", ".join(sorted({skip.reason for skip in skipped}))
    raise UserError(
        f"'{table.name}' has {amount(len(positions), 'usable row')}, at least {least} are needed"
        + (f" ({len(skipped)} skipped: {reasons})." if skipped else ".")
        + f" Add rows, or check the columns: {', '.join(filter(None, (*mapping.sentences, mapping.target)))}."
    )


def _far(spellings: Sequence[str]) -> str:
    """The warning about a few scores far from all others, which are all alike on the scale from lowest to highest."""
    scores = np.array([number(text) for text in spellings], dtype=np.float64)
    low, high = np.quantile(scores, (0.025, 0.975))
    far = np.flatnonzero((scores < low - FAR * (high - low)) | (scores > high + FAR * (high - low)))
    if not len(far) or low == high:
        return ""
    count, such = amount(len(far), "score is", "scores are"), spellings[int(far[0])]
    return f"{count} far from the others, such as {such}, which makes these nearly equal: correct or delete such rows."


def _targets(raw: list[str], mapping: ColumnRoles, name: str) -> Targets:
    """Return (targets (n,), labels, positive label, score range). Scores are scaled to 0..1, labels numbered in order."""
    if mapping.kind == "scored":
        scores = np.array([number(text) for text in raw], dtype=np.float64)
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            raise UserError(f"Every score in '{name}' is {low:g}: there is nothing to learn from. Choose another score column.")
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        return (scores - low) / (high - low), (), -1, (low, high)
    if mapping.kind != "labelled":
        return np.zeros(len(raw)), (), -1, (0.0, 1.0)
    labels = tuple(sorted(set(raw)))
    if len(labels) == 1:
        raise UserError(
            f"Every row of '{name}' has the label '{labels[0]}': there is nothing to learn from. "
            "Add rows with another label, or leave the label column out: then the file holds pairs that belong together."
        )
    if len(labels) > MOST_LABELS:
        raise UserError(
            f"The column '{mapping.target}' of '{name}' has {len(labels):,} different labels, at most {MOST_LABELS} can be learnt. "
            "If it holds scores, read the file as scored pairs."
        )
    positive = labels.index(mapping.positive) if mapping.positive in labels else labels.index(guess_positive(labels)[0])
    numbers = {label: i for i, label in enumerate(labels)}
    return np.array([numbers[text] for text in raw], dtype=np.float64), labels, positive, (0.0, 1.0)


def _remarks(examples: Examples, mapping: ColumnRoles, spellings: list[str], cut: list[int], most: int) -> list[str]:
    """What to tell of the examples. spellings: their labels as written; cut: rows with more than `most` characters."""
    remarks = []
    if mapping.target and not says_so(mapping.target):
        remarks.append(f"The column '{mapping.target}' was taken for the {NOUNS[examples.kind]}s, though its name does not say so.")
    if examples.kind == "scored" and (far := _far(spellings)):
        remarks.append(far)
    if examples.kind == "labelled":
        if variants := sorted(set(spellings) - set(examples.labels)):
            remarks.append(f"Other spellings of these labels count as them: {', '.join(variants[:5])}.")
        if mapping.positive not in examples.labels and not guess_positive(examples.labels)[1]:
            same = examples.labels[examples.positive]
            remarks.append(f"The label '{same}' was guessed to mean “the same”: check it under Columns, or write “same” there.")
    if cut:
        remarks.append(f"Cut to {most:,} characters: {row_list(cut)}.")
    if mapping.target:
        pairs = pd.DataFrame({"pair": [examples.pairs_of(i)[0] for i in range(len(examples))], "target": examples.targets})
        first = pairs.groupby("pair", sort=False)["target"].transform("first")
        if disputed := examples.rows[(pairs["target"] != first).to_numpy()].tolist():
            remarks.append(
                f"The same pair with different {NOUNS[examples.kind]}s: {row_list(disputed)}. Kept; check which is right."
            )
    return remarks
