"""Which columns of a table hold the sentences and the score or label: guessed by name, then by content."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from sbert_app.corpus.reader import words_a_cell
from sbert_app.errors import UserError

KINDS = {
    "scored": "Scored pairs",
    "labelled": "Labelled pairs",
    "triplets": "Triplets",
    "positives": "Pairs that belong together",
}
FIRST = (
    "sentence1 sentence_1 sentence_a sentencea text1 text_1 text_a premise question1 question_1 s1 sent1 sentence_one "
    "query anchor question left"
).split()
SECOND = (
    "sentence2 sentence_2 sentence_b sentenceb text2 text_2 text_b hypothesis question2 question_2 s2 sent2 sentence_two "
    "passage answer positive right"
).split()
ANCHOR, POSITIVE, NEGATIVE = ["anchor", "query", "question"], ["positive", "pos", "answer"], ["negative", "neg", "negative_1"]
SCORES = "score scores similarity similarity_score relatedness relatedness_score rating gold gold_score".split()
LABELS = "label labels gold_label class relation is_duplicate duplicate entailment_judgment judgment judgement quality".split()
SAME = "same entailment entails duplicate paraphrase similar equivalent match positive yes true y t gleich ja".split()
DIFFERENT = "different no false n f not_duplicate dissimilar contradiction opposite negative ungleich nein".split()
SAMPLE = 500
FEW = 10  # a column of at most so many different values may hold labels


@dataclass(frozen=True)
class Mapping:
    """How a table is read. `sentences`: 2 columns, for triplets 3; `target`: the score or label column, "" for none."""

    kind: str
    sentences: tuple[str, ...]
    target: str = ""
    positive: str = ""  # labelled: the label that means "the same"; "" guesses

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"Unknown kind of examples {self.kind!r}. Must be one of {', '.join(KINDS)}.")
        wanted = 3 if self.kind == "triplets" else 2
        if len(self.sentences) != wanted or not all(self.sentences):
            raise UserError(f"{KINDS[self.kind]} need {wanted} sentence columns, {len([*filter(None, self.sentences)])} chosen.")
        if (self.kind in ("scored", "labelled")) != bool(self.target):
            need = "need a column with the score or label" if not self.target else "have no score or label column"
            raise UserError(f"{KINDS[self.kind]} {need}.")


def guess_mapping(frame: pd.DataFrame) -> Mapping:
    """The likeliest reading of a table. Raises UserError where it has no two columns of text."""
    if all(_named(frame, names) for names in (ANCHOR, POSITIVE, NEGATIVE)):
        return Mapping("triplets", (_named(frame, ANCHOR), _named(frame, POSITIVE), _named(frame, NEGATIVE)))
    first, second = _named(frame, FIRST), _named(frame, SECOND)
    target = _named(frame, SCORES) or _named(frame, LABELS)
    prose = _prose(frame, exclude={target})
    if not (first and second):
        if len(prose) == 3 and not target:
            return Mapping("triplets", tuple(prose))
        first, second = prose[:2] if len(prose) >= 2 else ("", "")
    if not (first and second):
        raise UserError(
            f"Training needs two columns of sentences, or three for triplets. This file has: {', '.join(frame.columns)}. "
            "Name them sentence1, sentence2 and score or label; or anchor, positive, negative."
        )
    target = target or _likely_target(frame, exclude={first, second})
    return Mapping(target_kind(frame, target), (first, second), target) if target else Mapping("positives", (first, second))


def target_kind(frame: pd.DataFrame, column: str) -> str:
    """Whether a column holds scores or labels."""
    cells = frame[column].str.strip()
    values = [number(cell) for cell in cells.head(SAMPLE) if cell]
    numeric = [value for value in values if value is not None]
    if len(numeric) < len(values) / 2:
        return "labelled"
    different = len({value for value in numeric if math.isfinite(value)})
    # Ratings are scores even when they are whole; 0 and 1 are labels, and so are 0, 1, 2 under a name such as "label".
    return "labelled" if different <= (3 if _plain(column) in LABELS else 2) and _plain(column) not in SCORES else "scored"


def guess_positive(labels: Sequence[str]) -> tuple[str, bool]:
    """The label that most likely means "the same", and whether that is more than a guess.

    By its name; of two, the one that is not "different"; of numbers, the highest.
    """
    known = {label.lower(): label for label in labels}
    named = next((known[name] for name in SAME if name in known), "")
    others = [label for label in labels if label.lower() not in DIFFERENT]
    if not named and len(others) == 1:
        named = others[0]
    values = [value for label in labels if (value := number(label)) is not None]
    if len(values) == len(labels):
        return max(labels, key=lambda label: number(label) or 0.0), len(labels) == 2
    return named or labels[-1], bool(named)


def number(text: str) -> float | None:
    """A number as people write it, with a decimal point or comma; None for what is none. May be nan or inf."""
    text = text.strip()
    if re.fullmatch(r"[-+]?\d+,\d+", text):
        text = text.replace(",", ".")
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def _named(frame: pd.DataFrame, names: Sequence[str]) -> str:
    by_name = {_plain(column): column for column in reversed(frame.columns)}
    return next((by_name[name] for name in names if name in by_name), "")


def _plain(column: str) -> str:
    return re.sub(r"[\s-]+", "_", column.strip().lower())


def _prose(frame: pd.DataFrame, exclude: set[str]) -> list[str]:
    """The columns of more than one word a cell, wordiest three, in file order."""
    words = {c: words_a_cell(frame[c].head(SAMPLE)) for c in frame.columns if c not in exclude}
    wordy = sorted((c for c in words if words[c] > 2), key=lambda c: -words[c])[:3]
    return [column for column in frame.columns if column in wordy]


def _likely_target(frame: pd.DataFrame, exclude: set[str]) -> str:
    """A column of few different values, or of numbers."""
    for column in frame.columns:
        if column not in exclude:
            cells = frame[column].head(SAMPLE).str.strip()
            filled = [cell for cell in cells if cell]
            numeric = sum(number(cell) is not None for cell in filled)
            if filled and (1 < len(set(filled)) <= FEW or (numeric > len(filled) / 2 and not _counts_rows(filled))):
                return column
    return ""


def _counts_rows(cells: Sequence[str]) -> bool:
    """An id column: whole numbers, all different."""
    return len(set(cells)) == len(cells) and all(cell.isdigit() for cell in cells)
