"""Guess which column of a table holds the sentences, by its name or by its cells."""

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

SENTENCE_NAMES = (
    "sentence", "text", "sentence1", "question", "query", "message", "content", "body", "description", "comment", "review",
    "abstract", "abstract_note", "feedback", "complaint", "tweet", "utterance", "premise", "anchor",
)  # fmt: skip
TITLE_NAMES = "title", "summary"  # where a file has no longer text
READABLE_SHARE, TITLE_WORDS = 0.8, 2  # of the cells of a named column hold words; more words than in Mr and Mrs
NO_TEXT = ("http://", "https://", "{", "[{", '["')  # a link or JSON
# In scripts without spaces each character counts as a word.
WORD = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|[^\W\d_]+")


def guess_column(frame: pd.DataFrame) -> str:
    """Guess the sentence column: by its name or the last word of it, else by the most distinct words per row.

    A named column of which many cells hold no text is none; nor is one of links or JSON, unless there is nothing else.
    """
    head = frame.head(200)
    words = {
        str(name): [cell if WORD.search(cell) and not cell.startswith(NO_TEXT) else "" for cell in head[name]] for name in head
    }
    readable = [name for name, cells in words.items() if sum(map(bool, cells)) >= READABLE_SHARE * len(cells)]
    if name := named(frame[readable], SENTENCE_NAMES, whole_name) or named(frame[readable], SENTENCE_NAMES, last_word):
        return name
    if (name := named(frame[readable], TITLE_NAMES)) and words_a_cell(words[name]) > TITLE_WORDS:
        return name
    wordiness = {name: len(set(cells)) * words_a_cell(cells) for name, cells in words.items()}
    return max(wordiness, key=lambda name: (wordiness[name], head[name].nunique()))


def plain_name(column: str) -> str:
    return re.sub(r"[\s-]+", "_", column.strip().lower())


def named(frame: pd.DataFrame, names: Sequence[str], plain: Callable[[str], str] = plain_name) -> str:
    """The first column with one of these names, in the order of the names; "" if there is none. plain: what is compared of it."""
    return next((column for name in names for column in frame.columns if plain(column) == name), "")


def whole_name(column: str) -> str:
    """In the singular, such as text of "Texts"."""
    return plain_name(column).removesuffix("s")


def words_of(column: str) -> list[str]:
    """The words of a name, in lower case and in the singular: review and text of "Review Text", "reviewTexts", "review_text"."""
    return [word.lower().removesuffix("s") for word in WORD.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column))]


def last_word(column: str) -> str:
    """Of a name, without what stands in brackets: text of "Review Text (optional)"."""
    return "".join(words_of(column.partition("(")[0])[-1:])


def words_a_cell(cells: Iterable[str]) -> float:
    return float(np.mean([len(WORD.findall(cell)) for cell in cells]))


def looks_like_prose(frame: pd.DataFrame, column: str) -> bool:
    """Whether the column's cells hold more than one word on average."""
    return words_a_cell(frame.head(200)[column]) > 1
