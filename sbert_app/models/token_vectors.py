"""A sentence's token vectors before pooling, and the words that they belong to."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors


@dataclass(frozen=True)
class TokenVectors:
    """One sentence before pooling. Tokens of one word share a number in `word`; special tokens are words of their own."""

    words: list[str]
    word: NDArray[np.int64]  # (T,)
    vectors: Vectors  # (T, dim)
    truncated: bool
    unknown: int = 0  # tokens that are not in the vocabulary


def by_word(encoding: Any, text: str, hidden: Vectors, unknown: str | None = None) -> TokenVectors:
    """Number the words of a tokeniser's encoding of `text`. hidden: (T or more, dim); unknown: the token of unknown pieces."""
    words: list[str] = []
    numbers: list[int] = []
    previous: int | None = None
    for token, word, (start, end) in zip(encoding.tokens, encoding.word_ids, encoding.offsets, strict=True):
        if word is None:
            words.append(token)
        elif word != previous:
            words.append(text[start:end].strip() or token)
        else:
            words[-1] += text[start:end]
        previous = word
        numbers.append(len(words) - 1)
    known = hidden[: len(numbers)]
    return TokenVectors(
        words, np.array(numbers), known, bool(encoding.overflowing), encoding.tokens.count(unknown) if unknown else 0
    )
