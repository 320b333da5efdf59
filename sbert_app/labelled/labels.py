"""What the cells of a score or label column mean: their numbers, which labels are one, and which of them means "the same"."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.text_column import WORD, words_of

YES, NO = ("yes", "y", "true", "t", "1", "1.0"), ("no", "n", "false", "f", "0", "0.0")
SAME = (
    "same entailment entails duplicate dup paraphrase similar related equivalent match positive yes true y t gleich ja high 👍 1"
).split()
DIFFERENT = "different no false n f not_duplicate dissimilar contradiction opposite negative ungleich nein low 👎".split()
DENIALS = "not ", "not_", "not-", "non", "non-", "un", "dis", "no ", "no_"  # before another label
REVERSED_WORDS = {"different", "dissimilar", "distinct", "distance"}  # in the name of a column where a high value means different
BLANKS = frozenset(("", "-", "?", "n/a", "na", "nan", "none", "null", "cannot say"))  # no label, in lower case
NLI_CODES, ENTAILMENT, NO_GOLD = ("0", "1", "2"), "0", "-1"  # of entailment, neutral, contradiction, as SNLI and MNLI are published
PLAIN = {"0", "1"}, {"-1", "1"}  # numbers that everybody writes for different and the same
ANNOTATED = re.compile(r"([-+]?\d+(?:[.,]\d+)?) ?(?:%|/ ?\d{1,3}|[-–:=] ?[^\W\d].*)")
COMPARED, LEAST_COMPARED, SURE = 5_000, 10, 3  # pairs whose words are compared, of each label; standard errors
GUESSED = "The label '{}' was guessed to mean “the same”: check it (under Columns; for `train` by --same), or write “same”."
CLOSER = "The label '{}' is taken to mean “the same”, since its pairs share more words: check it under Columns."
OTHERS = "Beside {} there are the labels {}: they count as “different”."
TURNED = "A high value of '{}' is taken to mean “different”."


def number(text: str) -> float | None:
    """Parse a number with a decimal point or comma, also of 60 %, 3/5 and "5 - same"; may be nan or inf. None if it is none."""
    text = text.strip()
    if match := ANNOTATED.fullmatch(text):
        text = match[1]
    if re.fullmatch(r"[-+]?\d+,\d+", text):
        text = text.replace(",", ".")
    try:
        return float(text) if "_" not in text else None
    except ValueError:
        return None


def meaning(label: str, answers: bool = False) -> str:
    """What labels have in common that differ in capitals, as numbers, or, where all are answers, in the word for yes or no."""
    label = label.casefold()
    if answers and label in {*YES, *NO}:
        return "yes" if label in YES else "no"
    value = number(label)
    return label if value is None else f"{value:g}"


def one_spelling(cells: Sequence[str]) -> list[str]:
    """The cells, where of labels that mean the same the first spelling stands for all."""
    answers = all(label.casefold() in {*YES, *NO} for label in cells if label.casefold() not in BLANKS)
    first: dict[str, str] = {}
    return [first.setdefault(meaning(label, answers), label) for label in cells]


def blanks_among(cells: Sequence[str]) -> frozenset[str]:
    """What is no label among these cells, in lower case: a blank, and −1 beside the codes of NLI."""
    return BLANKS | {NO_GOLD} if {*cells} - {""} == {NO_GOLD, *NLI_CODES} else BLANKS


def guess_positive(labels: Sequence[str], column: str) -> tuple[str, bool]:
    """The label that means "the same" (by name or by excluding "different"; of numbers, the highest), and whether it is certain.

    Of two in a column whose name says that a high value means "different" it is the other.
    """
    if all(number(label) is not None for label in labels):
        same, certain = max(labels, key=lambda label: number(label) or 0.0), len(labels) == 2
    else:
        by_name = {label.lower(): label for label in labels}
        denied = {f"{denial}{label}" for denial in DENIALS for label in by_name}
        others = [label for label in labels if label.lower() not in DIFFERENT and label.lower() not in denied]
        known = next((by_name[name] for name in SAME if name in by_name), others[0] if len(others) == 1 else "")
        same, certain = known or labels[-1], bool(known)
    if certain and len(labels) == 2 and turned(column):
        return next(label for label in labels if label != same), True
    return same, certain


def same_label(column: str, cells: Sequence[str], pairs: Sequence[Sequence[str]]) -> tuple[str, str]:
    """The label that means "the same" of a column with these cells, and a remark where that is a guess.

    pairs: the two columns of sentences. Names of labels and of the column decide; of numbers, the highest. But of those that do
    not speak for themselves, as 0 and 1 do, the lowest where its pairs clearly share more words than those of the next: of the
    codes of NLI, or of 1 for the same and 2 for different.
    """
    labels = sorted(set(cells))
    same, certain = guess_positive(labels, column)
    if turned(column) and certain and len(labels) == 2:
        return same, TURNED.format(column)
    if all(number(label) is not None for label in labels) and {*map(meaning, labels)} not in PLAIN:
        low, second, *_ = sorted(labels, key=lambda label: number(label) or 0.0)
        if clearly_closer(low, second, np.array(cells, dtype=object), pairs):
            return low, CLOSER.format(low)
    answers = [label for label in labels if label.casefold() in {*YES, *NO}]
    if certain and len(answers) == 2 < len(labels):
        return same, OTHERS.format(" and ".join(answers), ", ".join(label for label in labels if label not in answers))
    more = [label for label in labels if label != same and same.casefold() in words_of(label)]  # such as "very high" beside "high"
    doubted = not all(label.casefold().startswith(DENIALS) for label in more)
    return same, GUESSED.format(same) if doubted or not certain else ""


def turned(column: str) -> bool:
    """Whether the name of a column says that a high value means "different"."""
    return not REVERSED_WORDS.isdisjoint(words_of(column))


def clearly_closer(one: object, other: object, cells: NDArray[Any], pairs: Sequence[Sequence[str]]) -> bool:
    """Whether the pairs of one label share more words than those of another, by more than chance. cells: their labels, (n,)."""
    rows_of = (np.flatnonzero(cells == label)[:COMPARED].tolist() for label in (one, other))
    shared = [np.array([_shared(pairs[0][i], pairs[1][i]) for i in rows]) for rows in rows_of]
    if min(map(len, shared)) < LEAST_COMPARED:
        return False
    error = float(np.sqrt(sum(values.var() / len(values) for values in shared)))
    return float(shared[0].mean() - shared[1].mean()) > SURE * error


def _shared(first: str, second: str) -> float:
    """How many of their words two sentences share (Jaccard), 0..1."""
    one, other = (set(WORD.findall(text.lower())) for text in (first, second))
    return len(one & other) / max(1, len(one | other))
