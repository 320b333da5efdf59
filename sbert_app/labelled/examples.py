"""Labelled data as a table brings it: scored pairs, labelled pairs, triplets, or pairs that belong together."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.labelled.columns import Mapping, guess_positive, number
from sbert_app.labelled.example_set import Examples as Examples
from sbert_app.settings import Limits
from sbert_app.tables import Skip, Table
from sbert_app.wording import plural, row_list

LEAST_ROWS = 20  # fewer than this can be neither split nor judged
MOST_LABELS = 50


@dataclass(frozen=True)
class Reading:
    """What was read, and what a person should know about it."""

    name: str
    mapping: Mapping
    examples: Examples
    skipped: tuple[Skip, ...]
    notes: tuple[str, ...]


def read_examples(table: Table, mapping: Mapping, limits: Limits, repeats: bool = False, least: int = LEAST_ROWS) -> Reading:
    """Take examples out of a table; rows that repeat one are kept where `repeats` says so (a published test set is what it is).

    Raises UserError where a column is missing or fewer than `least` rows are left.
    """
    _check_columns(table, mapping)
    skipped, places = list(table.skipped), []
    columns = [table.frame[name].str.strip().tolist() for name in mapping.sentences]
    raw = table.frame[mapping.target].str.split().str.join(" ").tolist() if mapping.target else [""] * len(table.rows)
    written = raw
    if mapping.kind == "labelled":
        raw = _one_writing(raw)
    seen: dict[tuple[str, ...], int] = {}
    for place, row in enumerate(table.rows.tolist()):
        cells = tuple(column[place] for column in columns)
        reason = _problem(cells, raw[place], mapping)
        if not reason and not repeats and seen.setdefault((*cells, raw[place]), row) != row:
            reason = "repeats an earlier row"
        if reason:
            skipped.append(Skip(row, reason))
        else:
            places.append(place)
    _check_enough(table, mapping, places, skipped, least)
    kept = [raw[place] for place in places]
    targets, labels, positive, bounds = _targets(kept, mapping, table.name)
    most = limits.sentence_characters
    sentences = tuple([column[place][:most] for place in places] for column in columns)
    examples = Examples(mapping.kind, sentences, targets, table.rows[places], labels, positive, bounds)
    skipped.sort(key=lambda skip: skip.row)
    remarks = [*_label_remarks(examples, written, mapping), *_remarks(examples, columns, places, most)]
    return Reading(table.name, mapping, examples, tuple(skipped), (*table.notes, *remarks))


def _check_columns(table: Table, mapping: Mapping) -> None:
    asked = [*mapping.sentences, *([mapping.target] if mapping.target else [])]
    listed = f"Its columns are: {', '.join(table.frame.columns)}."
    for column in asked:
        if column not in table.frame.columns:
            raise UserError(f"'{table.name}' has no column '{column}'. {listed}")
    for one, other in combinations(asked, 2):
        if one == other:
            raise UserError(f"The column '{one}' is chosen twice. Choose a different one for each part. {listed}")


def _problem(cells: Sequence[str], target: str, mapping: Mapping) -> str:
    if not all(cells):
        return "blank sentence"
    if mapping.kind == "scored":
        value = number(target)
        if value is None:
            return "score is not a number" if target else "blank score"
        return "" if math.isfinite(value) else "score is not finite"
    return "blank label" if mapping.kind == "labelled" and not target else ""


def _check_enough(table: Table, mapping: Mapping, places: list[int], skipped: list[Skip], least: int) -> None:
    if len(places) >= least:
        return
    reasons = ", ".join(sorted({skip.reason for skip in skipped}))
    raise UserError(
        f"'{table.name}' has {len(places)} usable {plural(len(places), 'row', 'rows')}, at least {least} are needed"
        + (f" ({len(skipped)} skipped: {reasons})." if skipped else ".")
        + f" Bring more rows, or check the columns: {', '.join(filter(None, (*mapping.sentences, mapping.target)))}."
    )


def _targets(raw: list[str], mapping: Mapping, name: str) -> tuple[NDArray[np.float64], tuple[str, ...], int, tuple[float, float]]:
    """Numbers for the target column: scores as 0..1, labels as their number in alphabetical order."""
    nothing = np.zeros(len(raw))
    if mapping.kind == "scored":
        scores = np.array([number(text) for text in raw], dtype=np.float64)
        low, high = float(scores.min()), float(scores.max())
        if low == high:
            raise UserError(f"Every score in '{name}' is {low:g}: there is nothing to learn from. Choose another score column.")
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        return (scores - low) / (high - low), (), -1, (low, high)
    if mapping.kind != "labelled":
        return nothing, (), -1, (0.0, 1.0)
    labels = tuple(sorted(set(raw)))
    if len(labels) == 1:
        raise UserError(
            f"Every row of '{name}' has the label '{labels[0]}': nothing can be told apart. "
            "Add rows with another label, or leave the label column out: then the file holds pairs that belong together."
        )
    if len(labels) > MOST_LABELS:
        raise UserError(
            f"The column '{mapping.target}' of '{name}' has {len(labels):,} different labels, at most {MOST_LABELS} can be learnt. "
            "If it holds scores, read the file as scored pairs."
        )
    positive = labels.index(mapping.positive) if mapping.positive in labels else labels.index(guess_positive(labels)[0])
    places = {label: i for i, label in enumerate(labels)}
    return np.array([places[text] for text in raw], dtype=np.float64), labels, positive, (0.0, 1.0)


def _one_writing(raw: list[str]) -> list[str]:
    """Labels that differ in capitals only, all as the first of them is written."""
    first: dict[str, str] = {}
    return [first.setdefault(label.casefold(), label) for label in raw]


def _label_remarks(examples: Examples, written: list[str], mapping: Mapping) -> list[str]:
    if examples.kind != "labelled":
        return []
    variants = sorted({label for label in written if label} - set(examples.labels))
    remarks = [f"Labels that differ in capitals only count as one: {', '.join(variants[:5])}."] if variants else []
    if mapping.positive not in examples.labels and not guess_positive(examples.labels)[1]:
        same = examples.labels[examples.positive]
        remarks.append(f"That '{same}' means “the same” is a guess: choose the right label under Columns before you start.")
    return remarks


def _remarks(examples: Examples, columns: Sequence[list[str]], places: list[int], most: int) -> list[str]:
    remarks = []
    cut = [int(row) for place, row in zip(places, examples.rows, strict=True) if any(len(c[place]) > most for c in columns)]
    if cut:
        remarks.append(f"Cut to {most:,} characters: {row_list(cut)}.")
    disputed = _disputed(examples)
    if disputed:
        remarks.append(f"The same pair with different {_noun(examples)}: {row_list(disputed)}. Kept; decide which is right.")
    return remarks


def _disputed(examples: Examples) -> list[int]:
    """Rows whose pair an earlier row has with another target."""
    if examples.kind not in ("scored", "labelled"):
        return []
    frame = pd.DataFrame({"pair": [examples.pairs_of(i)[0] for i in range(len(examples))], "target": examples.targets})
    first = frame.groupby("pair", sort=False)["target"].transform("first")
    return [int(row) for row in examples.rows[(frame["target"] != first).to_numpy()]]


def _noun(examples: Examples) -> str:
    return "scores" if examples.kind == "scored" else "labels"
