"""Find the columns of a file of pairs, two of text and one of labels if it has any, and read the labels."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from sbert_app.corpus.text_column import words_a_cell
from sbert_app.errors import UserError
from sbert_app.labelled.columns import LEAST_GRADE, MOST_GRADE, guess_mapping, is_id, named_targets
from sbert_app.labelled.labels import blanks_among, guess_positive, number, turned
from sbert_app.vectors import Array, Integers

SAMPLE = 200  # rows
FEW_VALUES, OFTEN = 3, 4
NO_LABELS = "none"
MOST_TEXTS = 10  # different labels that are texts
GRADED, TWO_VALUED = "scored", "labelled"  # as in columns.KINDS
WAY_OUT = "Choose a column of numbers, or of two values such as same and different, or none."


@dataclass(frozen=True)
class PairLabels:
    """The labels of n rows. `gold`: (n,), higher means closer, nan for none; of two values, 1 for `positive`, else 0."""

    column: str
    kind: str  # GRADED or TWO_VALUED
    cells: list[str]
    gold: Array  # of grades, with another sign where the name of the column says that a high value means different
    positive: str = ""  # two-valued: the label that means "the same"
    others: tuple[str, ...] = ()  # two-valued: all other labels
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> rows

    @property
    def labelled(self) -> Integers:
        """The positions that have a label."""
        return np.flatnonzero(np.isfinite(self.gold))

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest grade."""
        grades = -self.gold if turned(self.column) else self.gold
        return float(np.nanmin(grades)), float(np.nanmax(grades))


@dataclass(frozen=True)
class PairColumns:
    """The two text columns, and the column of labels, "" for none."""

    first: str
    second: str
    labels: str = ""

    @property
    def sentences(self) -> tuple[str, str]:
        return self.first, self.second


def guess_pair_columns(frame: pd.DataFrame) -> PairColumns:
    """The likeliest columns, the text columns in file order. Raises UserError for a table of one column."""
    if len(frame.columns) < 2:
        raise UserError(
            f"A file of pairs needs two columns of text. This file has one: {', '.join(frame.columns)}. "
            "Put the second sentence of each pair into a second column."
        )
    head = frame.head(SAMPLE)
    named = named_targets(frame)
    labels = [column for column in named if _labels(column, frame[column].tolist())]
    unnamed = [column for column in frame.columns if column not in named]
    likely = [column for column in unnamed if _looks_like_labels(column, head[column].tolist())]
    texts = [column for column in unnamed if column not in likely and not _numeric(head[column].tolist())]
    # A few texts that occur often are labels in several words, rather than sentences.
    values = {column: len(set(head[column].str.strip()) - {""}) for column in texts}
    varied = [column for column in texts if values[column] > FEW_VALUES or len(head) < OFTEN * values[column]]
    first, second = _texts(frame[next(columns for columns in (varied, texts, [*frame.columns]) if len(columns) > 1)])
    return PairColumns(first, second, next((column for column in (*labels, *likely) if column not in (first, second)), ""))


def choose_pair_columns(frame: pd.DataFrame, first: str = "", second: str = "", labels: str = "") -> PairColumns:
    """The columns that are named; those that are "" are guessed. labels: "none" for none, unless a column has that name."""
    if bool(first) != bool(second):
        raise UserError("Name both text columns, or neither: then they are guessed.")
    guess = guess_pair_columns(frame)
    texts = (first, second) if first else guess.sentences
    if not labels:
        labels = "" if guess.labels in texts else guess.labels
    elif labels == NO_LABELS and labels not in frame.columns:
        labels = ""
    return PairColumns(*texts, labels)


def _texts(frame: pd.DataFrame) -> tuple[str, str]:
    try:
        first, second, *_ = guess_mapping(frame).sentences
    except UserError:  # it has no two columns of prose: short phrases are pairs too
        words = {str(name): words_a_cell(frame[str(name)].head(SAMPLE)) for name in frame.columns}
        wordy = sorted(words, key=lambda name: -words[name])[:2]
        first, second = (name for name in words if name in wordy)
    return first, second


def _labels(column: str, cells: Sequence[str]) -> PairLabels | None:
    with suppress(UserError):
        return read_pair_labels(column, cells)
    return None


def _looks_like_labels(column: str, cells: list[str]) -> bool:
    """Whether a column without a known name holds labels: values that repeat, or fractions; grades only in a usual range."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    labels = _labels(column, cells)
    if labels is None or is_id(filled) or (len(set(filled)) == len(filled) > 1 and not _numeric(filled)):
        return False
    low, high = labels.bounds
    return labels.kind != GRADED or (low >= LEAST_GRADE and high <= MOST_GRADE)


def _numeric(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(number(cell) is not None for cell in filled) >= len(filled)


def entailment(frame: pd.DataFrame, column: str) -> str:
    """The code that means "the same" where a column holds those of NLI as they are published, else ""."""
    with suppress(UserError):  # no two columns of prose
        guess = guess_mapping(frame)
        return guess.positive if guess.target == column else ""
    return ""


def read_pair_labels(column: str, cells: Sequence[str], positive: str = "") -> PairLabels:
    """Read the labels of all rows. Raises UserError if nothing can be compared with them. positive: `entailment`."""
    blanks = blanks_among([*map(str.strip, cells)])
    texts = ["" if (text := " ".join(cell.split())).casefold() in blanks else text for cell in cells]
    if not (filled := [*filter(None, texts)]):
        raise UserError(f"The column '{column}' has no label. {WAY_OUT}")
    return _grades(column, texts) if _numeric(filled) and not positive else _two_texts(column, texts, positive)


def _grades(column: str, texts: list[str]) -> PairLabels:
    """Numbers are grades, two different ones are two values. Other texts are no labels."""
    numbers = np.array([number(text) for text in texts], dtype=np.float64)  # None becomes nan
    gold = np.where(np.isfinite(numbers), numbers, np.nan)
    values = np.unique(gold[np.isfinite(gold)])
    blank = texts.count("")
    other = int(np.isnan(gold).sum()) - blank
    left_out = {reason: count for reason, count in (("no label", blank), ("a label that is not a number", other)) if count}
    if len(values) < 2:
        raise _one_label(column, f"{values[0]:g}" if len(values) else next(filter(None, texts)))
    if len(values) > 2:
        return PairLabels(column, GRADED, texts, -gold if turned(column) else gold, left_out=left_out)
    other_value, same = values[::-1] if turned(column) else values
    gold = np.where(np.isnan(gold), np.nan, (gold == same).astype(np.float64))
    return PairLabels(column, TWO_VALUED, texts, gold, f"{same:g}", (f"{other_value:g}",), left_out)


def _two_texts(column: str, texts: list[str], positive: str = "") -> PairLabels:
    """One of the texts must mean "the same"; all others count as different."""
    first: dict[str, str] = {}
    spelt = [first.setdefault(text.casefold(), text) for text in texts]
    counts = Counter(filter(None, spelt))
    if len(counts) == 1:
        raise _one_label(column, next(iter(counts)))
    labels = sorted(counts)
    same, certain = guess_positive(labels, column) if len(labels) <= MOST_TEXTS else ("", False)
    if not (positive := positive or (same if certain else "")):
        shown = ", ".join(f"'{label}'" for label, _ in counts.most_common(3))
        raise UserError(f"In the column '{column}' no label is known to mean the same; it holds {shown}. {WAY_OUT}")
    gold = np.array([np.nan if not label else float(label == positive) for label in spelt])
    blank = spelt.count("")
    others = tuple(label for label in labels if label != positive)
    return PairLabels(column, TWO_VALUED, texts, gold, positive, others, {"no label": blank} if blank else {})


def _one_label(column: str, label: str) -> UserError:
    return UserError(f"Every label of the column '{column}' is '{label}', so there is nothing to compare. {WAY_OUT}")
