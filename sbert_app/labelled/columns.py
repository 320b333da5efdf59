"""Find the columns that hold the sentences and the score or label: by name, then by content; and the texts in them."""

import json
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import pandas as pd

from sbert_app.corpus.text_column import named, plain_name, words_a_cell, words_of
from sbert_app.errors import UserError
from sbert_app.labelled.labels import ENTAILMENT, NLI_CODES, NO_GOLD, REVERSED_WORDS, number
from sbert_app.settings import Limits
from sbert_app.tables import Table
from sbert_app.tables.collecting import check_size
from sbert_app.tables.table import SHEET
from sbert_app.vectors import Integers

KINDS = {"scored": "Scored pairs", "labelled": "Labelled pairs", "triplets": "Triplets", "positives": "Pairs that belong together"}
FIRST = (
    "sentence1 sentence_1 sentence_a sentencea text1 text_1 text_a premise question1 question_1 s1 sent1 sentence_one "
    "query anchor question left"
).split()
SECOND = (
    "sentence2 sentence_2 sentence_b sentenceb text2 text_2 text_b hypothesis question2 question_2 s2 sent2 sentence_two "
    "passage answer positive right"
).split()
ANCHOR, POSITIVE = ["anchor", "query", "question"], ["positive", "pos", "answer"]
NEGATIVE = ["negative", "neg", "negative_1", "negative1", "hard_negative", "hard_neg"]
SINGLE = ["text", "sentence"]  # names of the only column of sentences
SCORES = "score scores similarity similarity_score relatedness relatedness_score rating gold gold_score".split()
LABELS = "label labels gold_label class relation is_duplicate duplicate entailment_judgment judgment judgement quality".split()
# In other names, in the singular: of scores or labels, and of what is neither.
TARGET_WORDS = "score similarity similar sim relatedness grade gold rating label same duplicate dup related mean average".split()
OTHER_WORDS = frozenset(
    "split set part fold lang language locale year date day time month batch annotator rater reviewer author source genre domain "
    "topic id confidence weight index".split()
)
NAMES_OF_PARTS = {"train": "train", "training": "train", "test": "held_out", "held-out": "held_out"}
NAMES_OF_PARTS |= dict.fromkeys(("dev", "val", "valid", "validation"), "dev")
SAMPLE = 500  # rows
LISTS, SEEN = ('["', "[]", "[[", "[{", "{"), 50  # how a cell begins that is no text; rows in which it is looked for
NUMBERED = re.compile(r"(hard_)?neg(ative)?_?\d+")  # the name of one of several columns of wrong partners
MOST_LABEL_WORDS = 3  # in a cell, on average
MOST_VALUES = 10  # different values of a column that may hold labels
LEAST_GRADE, MOST_GRADE = -1.0, 10.0  # of a column without a known name: other numbers may be lengths or years


@dataclass(frozen=True)
class ColumnRoles:
    """The role of each column. `sentences`: 2 columns, for triplets 3; `target`: the score or label column, "" for none."""

    kind: str
    sentences: tuple[str, ...]
    target: str = ""
    positive: str = ""  # labelled: the label that means "the same", "" to guess it

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"Unknown kind of examples {self.kind!r}. Must be one of {', '.join(KINDS)}.")
        count = 3 if self.kind == "triplets" else 2
        if len(self.sentences) != count or not all(self.sentences):
            raise UserError(f"{KINDS[self.kind]} need {count} sentence columns, {len([*filter(None, self.sentences)])} chosen.")
        if (self.kind in ("scored", "labelled")) != bool(self.target):
            problem = "need a column with the score or label" if not self.target else "have no score or label column"
            raise UserError(f"{KINDS[self.kind]} {problem}.")


def guess_mapping(frame: pd.DataFrame) -> ColumnRoles:
    """The likeliest roles of a table's columns. Raises UserError if it has no two columns of text."""
    if all(triplet := [named(frame, names) for names in (ANCHOR, POSITIVE, NEGATIVE)]):
        return ColumnRoles("triplets", tuple(triplet))
    first, second = named(frame, FIRST), named(frame, SECOND)
    target = next((column for column in named_targets(frame) if column not in (first, second)), "")
    if not (first and second):
        prose = _prose(frame, exclude={target})
        if len(prose) == 3 and not target:
            return ColumnRoles("triplets", tuple(prose))
        if len(prose) < 2:
            prose = _phrases(frame, exclude={target})
        if len(prose) < 2:
            raise UserError(
                f"Pairs need two columns of sentences, triplets three. This file has: {', '.join(frame.columns)}. "
                "Name them sentence1, sentence2 and score or label; or anchor, positive, negative."
            )
        first, second = prose[:2]
    target = target or _likely_target(frame, exclude={first, second, SHEET})
    if not target:
        return ColumnRoles("positives", (first, second))
    is_nli = (plain_name(first), plain_name(second)) == ("premise", "hypothesis")
    if is_nli and set(frame[target].str.strip()) - {"", NO_GOLD} == set(NLI_CODES):  # as it is published
        return ColumnRoles("labelled", (first, second), target, ENTAILMENT)
    return ColumnRoles(target_kind(frame, target), (first, second), target)


def chosen_mapping(
    frame: pd.DataFrame, kind: str, sentences: Sequence[str | None], target: str | None, positive: str | None
) -> ColumnRoles:
    """The roles that a person chose, three sentences and a target at most. What the kind needs and is not chosen is filled in."""
    columns, unused = [*sentences], [name for name in frame.columns if name not in sentences]
    if kind == "triplets" and not columns[2]:
        columns[2] = next(iter(unused), "")
    has_target = kind in ("scored", "labelled")
    if has_target and not target:
        target = next((name for name in unused if target_kind(frame, name) == kind), next(iter(unused), ""))
    named = tuple(name or "" for name in columns[: 3 if kind == "triplets" else 2])
    return ColumnRoles(kind, named, (target or "") if has_target else "", positive or "")


def has_pairs(frame: pd.DataFrame) -> bool:
    """Whether the table holds pairs or triplets, not single sentences with a label: by the names of its columns, then by prose."""
    if named(frame, FIRST) and named(frame, SECOND):
        return True
    return not named(frame, SINGLE) and len(_prose(frame, exclude=set())) >= 2


def target_kind(frame: pd.DataFrame, column: str) -> str:
    """Whether a column holds scores or labels."""
    cells = frame[column].str.strip()
    values = [number(cell) for cell in cells.head(SAMPLE) if cell]
    numeric = [value for value in values if value is not None]
    if len(numeric) < len(values) / 2:
        return "labelled"
    different = {value for value in numeric if math.isfinite(value)}
    distinct = len(different) - (different == {-1, 0, 1, 2})  # as NLI sets have it, where -1 is no label
    # Two different numbers are labels, or three under a name such as "label"; more, or a name such as "score", are scores.
    return "labelled" if distinct <= (3 if plain_name(column) in LABELS else 2) and plain_name(column) not in SCORES else "scored"


def written_out(table: Table, mapping: ColumnRoles, limits: Limits) -> tuple[list[list[str]], Integers]:
    """The columns of sentences, and of which row each of their cells is: a row that holds several texts is there for each.

    These are lists such as ["a", "b"], as FlagEmbedding writes its positives and negatives, and the columns negative_1, negative_2
    and so on, which are one. The n-th texts of a row's lists stand together; a shorter list begins again.
    """
    frame, columns = table.frame, list[list[list[str]]]()
    numbered = [name for name in frame.columns if NUMBERED.fullmatch(plain_name(name))]
    for name in mapping.sentences:
        texts = frame[name].str.strip().tolist()
        if name in numbered:
            cells = [[*filter(None, map(str.strip, row))] or [""] for row in frame[numbered].to_numpy().tolist()]
        elif (filled := [*filter(None, texts[:SEEN])]) and all(text.startswith(LISTS) for text in filled):
            cells = [_listed(text, f"The column '{name}' of '{table.name}'") for text in texts]
        else:
            cells = [[text] for text in texts]
        columns.append(cells)
    counts = [max(map(len, row)) for row in zip(*columns, strict=True)]
    check_size(table.name, limits, rows=sum(counts))
    sentences = [[text for cells, n in zip(column, counts, strict=True) for text in islice(cycle(cells), n)] for column in columns]
    return sentences, np.repeat(np.arange(len(counts)), counts)


def _listed(cell: str, column: str) -> list[str]:
    """The texts of a list as JSON, [""] for none. Raises UserError for anything else."""
    with suppress(ValueError, RecursionError):
        texts = json.loads(cell or "[]")
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [*filter(None, map(str.strip, texts))] or [""]
    raise UserError(f"{column} holds lists, not texts. Write one row for each text of a list.")


def named_targets(frame: pd.DataFrame) -> list[str]:
    """The columns whose name says that they hold scores or labels, scores first; then those whose name holds such a word."""
    exact = [column for name in (*SCORES, *LABELS) for column in frame.columns if plain_name(column) == name]
    by_word = (column for column in frame.columns if column not in exact and says_so(column))
    return exact + [column for column in by_word if words_a_cell(frame[column].head(SAMPLE)) <= MOST_LABEL_WORDS]


def says_so(column: str) -> bool:
    """Whether the name of a column says that it holds scores or labels."""
    return plain_name(column) in {*SCORES, *LABELS} or bool({*TARGET_WORDS, *REVERSED_WORDS}.intersection(words_of(column)))


def is_id(cells: Sequence[str]) -> bool:
    """Whether it looks like an id column: whole numbers, all different."""
    return len(set(cells)) == len(cells) and all(cell.isdigit() for cell in cells)


def _prose(frame: pd.DataFrame, exclude: set[str]) -> list[str]:
    """The columns of more than two words per cell, at most the three wordiest, in file order."""
    words = {c: words_a_cell(frame[c].head(SAMPLE)) for c in frame.columns if c not in exclude}
    wordy = sorted((c for c in words if words[c] > 2), key=lambda c: -words[c])[:3]
    return [column for column in frame.columns if column in wordy]


def _phrases(frame: pd.DataFrame, exclude: set[str]) -> list[str]:
    """The first two columns of words that hardly repeat: short phrases are pairs too."""
    head = frame.head(SAMPLE)
    texts = (name for name in frame.columns if name not in exclude and not any(map(number, head[name])))
    return [name for name in texts if head[name].nunique() > len(head) / 2][:2]


def _likely_target(frame: pd.DataFrame, exclude: set[str]) -> str:
    """The first column of grades such as 3.8, else the first of few different values or of numbers; "" if there is none."""
    likely = list[str]()
    for column in (name for name in frame.columns if name not in exclude and not OTHER_WORDS.intersection(words_of(name))):
        filled = [cell for cell in frame[column].head(SAMPLE).str.strip() if cell]
        if {cell.lower() for cell in filled} <= NAMES_OF_PARTS.keys():
            continue
        numbers = [value for cell in filled if (value := number(cell)) is not None]
        in_range = len(numbers) == len(filled) and all(LEAST_GRADE <= value <= MOST_GRADE for value in numbers)
        if in_range and any(value % 1 for value in numbers):
            return column
        if filled and (1 < len(set(filled)) <= MOST_VALUES or (len(numbers) > len(filled) / 2 and not is_id(filled))):
            likely.append(column)
    return next(iter(likely), "")
