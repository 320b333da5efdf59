"""Conditions as a filter expression of Milvus, and the texts and numbers that rows carry so that it can be evaluated exactly.

Names of columns never enter an expression: the columns of a collection are numbered. For each, a row holds its text, its folded
text where that differs ("" where not), and where the column has a scale its number and whether it could be read.
"""

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from sbert_app.collections.collection import ROW, SENTENCE, Facts
from sbert_app.corpus.filters import Condition, no_scale, trimmed
from sbert_app.corpus.values import range_on

NOTHING = f"{ROW} < 0"  # no row has such an id
ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
# Milvus and milvus-lite escape wildcards in different ways. So that patterns need no escape, folded texts hold code points that
# Unicode reserves for internal use in place of what has a meaning in a pattern.
IN_PATTERNS = {"%": "\ufdd0", "_": "\ufdd1", "\\": "\ufdd2"}
LIMIT = sys.float_info.max  # in place of infinity, which JSON and expressions cannot hold


class Fields(NamedTuple):
    """The fields of Milvus that hold a column: its text, its folded text, its number, and its state of corpus.values."""

    text: str
    folded: str
    number: str
    state: str


def fields_of(column: str, facts: Facts) -> Fields:
    if column == facts.sentence:
        return Fields(SENTENCE, "folded", "number", "state")
    place = facts.columns.index(column)
    return Fields(f"c{place}", f"f{place}", f"n{place}", f"s{place}")


def expression(wanted: Sequence[Condition], facts: Facts) -> str:
    """An expression that holds for the rows that `corpus.filters.matching_rows` finds; "" without conditions. Raises UserError.

    But a cell with outer blanks has a value only where that is given with them: Milvus cannot take them off.
    """
    return " and ".join(filter(None, (_term(condition, facts) for condition in wanted)))


def fold(text: str) -> str:
    """A text such that one contains another in any case if and only if its folded text contains the other's folded text."""
    return text.translate(_folding())


def finite(number: float) -> float:
    """A number that JSON can hold and that compares as this one does."""
    return min(max(number, -LIMIT), LIMIT)


def _term(condition: Condition, facts: Facts) -> str:
    fields = fields_of(condition.column, facts)
    terms = []
    if condition.values is not None:
        texts = {*condition.values, *map(trimmed, condition.values)}
        texts |= set(map(fold, texts))
        by_field = {fields.text: texts, fields.folded: texts - {""}}  # "" stands for all that are their own folded text
        lists = {field: ", ".join(map(_quoted, sorted(values))) for field, values in by_field.items() if values}
        terms.append(f"({' or '.join(f'{field} in [{values}]' for field, values in lists.items())})" if lists else NOTHING)
    if condition.contains:
        pattern = _quoted(f"%{fold(condition.contains)}%")
        # A text whose folded text is not stored is its own folded text; where it is, containing the pattern means the same.
        terms.append(f"({fields.text} like {pattern} or {fields.folded} like {pattern})")
    if condition.is_range:
        if condition.column not in facts.scales:
            raise no_scale(condition.column)
        low, high = range_on(facts.scales[condition.column], condition.column, condition.low, condition.high)
        ends = ((">=", condition.low, low), ("<=", condition.high, high))
        terms += [f"{fields.number} {sign} {finite(end)!r}" for sign, wanted, end in ends if wanted is not None]
    return " and ".join(terms)


def _quoted(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'


@cache
def _folding() -> dict[int, str]:
    """Letters to one letter for all that differ in case only, as `matching_rows` compares them; one letter stays one."""
    cased = [letter for letter in map(chr, range(sys.maxunicode + 1)) if letter.casefold() != letter]
    groups: dict[str, str] = {}  # ß and ẞ both become "ss", which is not one letter: the first of them stands for both
    for letter in cased:
        folded = letter.casefold()
        groups.setdefault(folded, folded if len(folded) == 1 else letter)
    folding = {ord(letter): groups[letter.casefold()] for letter in cased}
    return folding | {ord(character): reserved for character, reserved in IN_PATTERNS.items()}
