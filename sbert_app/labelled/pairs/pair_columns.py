"""Find the columns of a file of pairs: two of text, and one of labels if it has any."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from sbert_app.corpus.reader import words_a_cell
from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_mapping, is_id, named_targets, number
from sbert_app.labelled.pairs.pair_labels import GRADED, PairLabels, read_pair_labels

SAMPLE = 200  # rows
FEW_VALUES, OFTEN = 3, 4
NO_LABELS = "none"
LOWEST, HIGHEST = -1.0, 10.0  # grades of a column without a known name: other numbers may be lengths or years


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
    likely = [column for column in frame.columns if column not in named and _looks_like_labels(column, head[column].tolist())]
    texts = [column for column in frame.columns if column not in (*named, *likely) and not _numeric(head[column].tolist())]
    varied = [column for column in texts if not _has_few_values(head[column].tolist())]
    first, second = _texts(frame[next(columns for columns in (varied, texts, [*frame.columns]) if len(columns) > 1)])
    label = next((column for column in (*labels, *likely) if column not in (first, second)), "")
    return PairColumns(first, second, label)


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
    try:
        return read_pair_labels(column, cells)
    except UserError:
        return None


def _looks_like_labels(column: str, cells: list[str]) -> bool:
    """Whether a column without a known name holds labels: values that repeat, or fractions; grades only in a usual range."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    labels = _labels(column, cells)
    if labels is None or is_id(filled) or (len(set(filled)) == len(filled) > 1 and not _numeric(filled)):
        return False
    low, high = labels.bounds
    return labels.kind != GRADED or (low >= LOWEST and high <= HIGHEST)


def _has_few_values(cells: list[str]) -> bool:
    """Whether each of at most FEW_VALUES texts occurs OFTEN times on average: labels in several words, rather than sentences."""
    values = {cell.strip() for cell in cells if cell.strip()}
    return len(values) <= FEW_VALUES and len(cells) >= OFTEN * len(values)


def _numeric(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return bool(filled) and 2 * sum(number(cell) is not None for cell in filled) >= len(filled)
