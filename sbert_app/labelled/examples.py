"""Read scored pairs, labelled pairs, triplets or pairs that belong together from a table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd

from sbert_app.corpus.reader import existing
from sbert_app.errors import UserError
from sbert_app.labelled import labels
from sbert_app.labelled.columns import ColumnRoles, says_so, written_out
from sbert_app.labelled.example_set import Examples as Examples
from sbert_app.settings import ASSETS, Limits
from sbert_app.tables import Skip, Table, read_table, skipped_summary
from sbert_app.wording import amount, row_list

NOUNS = {"scored": "score", "labelled": "label"}
FAR = 10  # times the range of 95 % of the scores
LEAST_ROWS = 20  # fewer cannot be split and evaluated
MOST_LABELS = 50
GENERAL = ASSETS / "evaluation" / "everyday_pairs.csv"


@dataclass(frozen=True)
class Reading:
    """The examples read from a table, with skipped rows and notes to show."""

    name: str
    mapping: ColumnRoles
    examples: Examples
    skipped: tuple[Skip, ...]
    notes: tuple[str, ...]

    @property
    def remarks(self) -> list[str]:
        """The columns, the notes and what was skipped, one sentence each."""
        columns = ", ".join(filter(None, (*self.mapping.sentences, self.mapping.target)))
        return [f"Read as {self.mapping.kind}, columns {columns}.", *self.notes, *skipped_summary(self.skipped)]


def read_examples(table: Table, mapping: ColumnRoles, limits: Limits, repeats: bool = False, least: int = LEAST_ROWS) -> Reading:
    """Read a table's examples. repeats: keep repeated rows. Raises UserError for a missing column or fewer than `least` rows."""
    check_columns(table, [*mapping.sentences, *([mapping.target] if mapping.target else [])])
    skipped, positions = list(table.skipped), []
    columns, places = written_out(table, mapping, limits)
    rows = table.rows[places]
    spellings = table.frame[mapping.target].str.split().str.join(" ").iloc[places].tolist() if mapping.target else [""] * len(rows)
    raw = labels.one_spelling(spellings) if mapping.kind == "labelled" else spellings
    blanks = labels.blanks_among(raw)
    seen: dict[tuple[str, ...], int] = {}
    for position, row in enumerate(rows.tolist()):
        cells = tuple(column[position] for column in columns)
        reason = _problem(cells, raw[position], mapping, blanks)
        if not reason and not repeats and seen.setdefault((*cells, raw[position]), row) != row:
            reason = "repeats an earlier row"
        if reason:
            skipped.append(Skip(row, reason))
        else:
            positions.append(position)
    _check_enough(table, mapping, positions, skipped, least)
    most = limits.sentence_characters
    sentences = tuple([column[position][:most] for position in positions] for column in columns)
    blank = Examples(mapping.kind, sentences, np.zeros(len(positions)), rows[positions])
    examples, remark = _with_targets(blank, [raw[position] for position in positions], mapping, table.name)
    skipped.sort(key=lambda skip: skip.row)
    cut = [int(rows[i]) for i in positions if any(len(column[i]) > most for column in columns)]
    remarks = _remarks(examples, mapping, [spellings[position] for position in positions], cut, most)
    return Reading(table.name, mapping, examples, tuple(skipped), (*table.notes, *filter(None, (remark, *remarks))))


@cache
def general_pairs() -> Examples:
    """Everyday sentences in scored pairs, written for this project: what a model should still tell apart after any training."""
    table = read_table(GENERAL, Limits())
    return read_examples(table, ColumnRoles("scored", ("sentence1", "sentence2"), "score"), Limits()).examples


def check_columns(table: Table, chosen: Sequence[str]) -> None:
    """Raise UserError for a column that the table does not have, or that is chosen twice."""
    if chosen:
        existing(table, chosen)
    if twice := [name for name in chosen if chosen.count(name) > 1]:
        names = ", ".join(table.frame.columns)
        raise UserError(f"The column '{twice[0]}' is chosen twice. Choose a different one for each part. Its columns are: {names}.")


def _problem(cells: Sequence[str], target: str, mapping: ColumnRoles, blanks: frozenset[str]) -> str:
    if not all(cells):
        return "blank sentence"
    if mapping.kind == "scored":
        value = labels.number(target)
        if value is None:
            return "score is not a number" if target else "blank score"
        return "" if math.isfinite(value) else "score is not finite"
    return "blank label" if mapping.kind == "labelled" and target.casefold() in blanks else ""


def _check_enough(table: Table, mapping: ColumnRoles, positions: list[int], skipped: list[Skip], least: int) -> None:
    if len(positions) < least:
        reasons = ", ".join(sorted({skip.reason for skip in skipped}))
        raise UserError(
            f"'{table.name}' has {amount(len(positions), 'usable row')}, at least {least} are needed"
            + (f" ({len(skipped)} skipped: {reasons})." if skipped else ".")
            + f" Add rows, or check the columns: {', '.join(filter(None, (*mapping.sentences, mapping.target)))}."
        )


def _far(spellings: Sequence[str]) -> str:
    """The warning about a few scores far from all others, which are all alike on the scale from lowest to highest."""
    scores = np.array([labels.number(text) for text in spellings], dtype=np.float64)
    low, high = np.quantile(scores, (0.025, 0.975))
    far = np.flatnonzero((scores < low - FAR * (high - low)) | (scores > high + FAR * (high - low)))
    if not len(far) or low == high:
        return ""
    count, such = amount(len(far), "score is", "scores are"), spellings[int(far[0])]
    return f"{count} far from the others, such as {such}, which makes these nearly equal: correct or delete such rows."


def _with_targets(examples: Examples, raw: list[str], mapping: ColumnRoles, name: str) -> tuple[Examples, str]:
    """The examples with what they are to learn, and a remark on how it was read, "" for none.

    Scores are scaled to 0..1, where a high one means different with the highest as 0; labels are numbered in order.
    """
    if mapping.kind == "scored":
        scores = np.array([labels.number(text) for text in raw], dtype=np.float64)
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            raise UserError(f"Every score in '{name}' is {low:g}: there is nothing to learn from. Choose another score column.")
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        if not labels.turned(mapping.target):
            return replace(examples, targets=(scores - low) / (high - low), score_range=(low, high)), ""
        targets = (high - scores) / (high - low)
        return replace(examples, targets=targets, score_range=(high, low)), labels.TURNED.format(mapping.target)
    if mapping.kind != "labelled":
        return examples, ""
    names = tuple(sorted(set(raw)))
    if len(names) == 1:
        raise UserError(
            f"Every row of '{name}' has the label '{names[0]}': there is nothing to learn from. "
            "Add rows with another label, or leave the label column out: then the file holds pairs that belong together."
        )
    if len(names) > MOST_LABELS:
        raise UserError(
            f"The column '{mapping.target}' of '{name}' has {len(names):,} different labels, at most {MOST_LABELS} can be learnt. "
            "If it holds scores, read the file as scored pairs."
        )
    chosen = mapping.positive in names
    same, remark = (mapping.positive, "") if chosen else labels.same_label(mapping.target, raw, examples.sentences)
    targets = np.array([names.index(text) for text in raw], dtype=np.float64)
    return replace(examples, targets=targets, labels=names, positive=names.index(same)), remark


def _remarks(examples: Examples, mapping: ColumnRoles, spellings: list[str], cut: list[int], most: int) -> list[str]:
    """What to tell of the examples. spellings: their labels as written; cut: rows with more than `most` characters."""
    remarks = []
    if mapping.target and not says_so(mapping.target):
        remarks.append(f"The column '{mapping.target}' was taken for the {NOUNS[examples.kind]}s, though its name does not say so.")
    if examples.kind == "scored":
        remarks.append(_far(spellings))
    if examples.kind == "labelled" and (variants := sorted(set(spellings) - set(examples.labels))):
        remarks.append(f"Other spellings of these labels count as them: {', '.join(variants[:5])}.")
    if cut:
        remarks.append(f"Cut to {most:,} characters: {row_list(cut)}.")
    if mapping.target:
        pairs = pd.DataFrame({"pair": [examples.pairs_of(i)[0] for i in range(len(examples))], "target": examples.targets})
        first = pairs.groupby("pair", sort=False)["target"].transform("first")
        if rows := examples.rows[(pairs["target"] != first).to_numpy()].tolist():
            remarks.append(f"The same pair with different {NOUNS[examples.kind]}s: {row_list(rows)}. Kept; check which is right.")
    return remarks
