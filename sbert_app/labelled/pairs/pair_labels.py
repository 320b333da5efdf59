"""Read a column of labels of a file of pairs: grades, such as 0 to 5, or two values, such as same and different."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sbert_app.errors import UserError
from sbert_app.labelled.columns import guess_positive, number

BLANKS = frozenset(("", "-", "?", "n/a", "na", "nan", "none", "null"))  # no label, in lower case
MOST_TEXTS = 10  # different labels that are texts
GRADED, TWO_VALUED = "scored", "labelled"  # as in columns.KINDS
WAY_OUT = "Choose a column of numbers, or of two values such as same and different, or none."


@dataclass(frozen=True)
class PairLabels:
    """The labels of n rows. `gold`: (n,), higher means closer, nan for none; of two values, 1 for `positive`, else 0."""

    column: str
    kind: str  # GRADED or TWO_VALUED
    cells: list[str]
    gold: NDArray[np.float64]
    positive: str = ""  # two-valued: the label that means "the same"
    others: tuple[str, ...] = ()  # two-valued: all other labels
    left_out: dict[str, int] = field(default_factory=dict)  # reason -> rows

    @property
    def labelled(self) -> NDArray[np.int64]:
        """The positions that have a label."""
        return np.flatnonzero(np.isfinite(self.gold))

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest gold value."""
        return float(np.nanmin(self.gold)), float(np.nanmax(self.gold))


def read_pair_labels(column: str, cells: Sequence[str]) -> PairLabels:
    """Read the labels of all rows. Raises UserError if nothing can be compared with them."""
    texts = [" ".join(cell.split()) for cell in cells]
    filled = [text for text in texts if text.casefold() not in BLANKS]
    numeric = sum(number(text) is not None for text in filled)
    if not filled:
        raise UserError(f"The column '{column}' has no label. {WAY_OUT}")
    return _numbers(column, texts) if 2 * numeric >= len(filled) else _texts(column, texts)


def _numbers(column: str, texts: list[str]) -> PairLabels:
    """Numbers are grades, two different ones are two values. Other texts are no labels."""
    parsed = [number(text) for text in texts]
    gold = np.array([value if value is not None and math.isfinite(value) else np.nan for value in parsed])
    values = np.unique(gold[np.isfinite(gold)])
    missing = [text.casefold() in BLANKS for text in texts]
    blank, other = sum(missing), int(np.isnan(gold).sum()) - sum(missing)
    left_out = {reason: count for reason, count in (("no label", blank), ("a label that is not a number", other)) if count}
    if len(values) < 2:
        raise _one_label(column, f"{values[0]:g}" if len(values) else texts[0])
    if len(values) > 2:
        return PairLabels(column, GRADED, texts, gold, left_out=left_out)
    gold = np.where(np.isnan(gold), np.nan, (gold == values[1]).astype(np.float64))
    low, high = (f"{value:g}" for value in values)
    return PairLabels(column, TWO_VALUED, texts, gold, high, (low,), left_out)


def _texts(column: str, texts: list[str]) -> PairLabels:
    """One of the texts must mean "the same"; all others count as different."""
    first: dict[str, str] = {}
    spelt = ["" if (key := text.casefold()) in BLANKS else first.setdefault(key, text) for text in texts]
    counts = Counter(filter(None, spelt))
    if len(counts) == 1:
        raise _one_label(column, next(iter(counts)))
    labels = sorted(counts)
    positive, certain = guess_positive(labels) if len(labels) <= MOST_TEXTS else ("", False)
    if not certain:
        shown = ", ".join(f"'{label}'" for label, _ in counts.most_common(3))
        raise UserError(f"In the column '{column}' no label is known to mean the same; it holds {shown}. {WAY_OUT}")
    gold = np.array([np.nan if not label else float(label == positive) for label in spelt])
    blank = spelt.count("")
    others = tuple(label for label in labels if label != positive)
    return PairLabels(column, TWO_VALUED, texts, gold, positive, others, {"no label": blank} if blank else {})


def _one_label(column: str, label: str) -> UserError:
    return UserError(f"Every label of the column '{column}' is '{label}', so there is nothing to compare. {WAY_OUT}")
