"""Explain the score of two sentences: their token vectors before pooling, and each pair of words' share of the score."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.vectors import Vectors, cosine, unit_rows

EXACT = "exact"
LEAVE_ONE_OUT = "leave-one-token-out"
SPECIAL = re.compile(r"\[[A-Z]+\]|</?[a-z]+>")


@dataclass(frozen=True)
class Link:
    """A word of each sentence and what the two add to the score."""

    word1: str
    word2: str
    contribution: float


@dataclass(frozen=True)
class Attribution:
    """`contributions[i, j]`: what word i of sentence 1 and word j of sentence 2 add to the score; under EXACT they sum to it."""

    method: str
    words1: list[str]
    words2: list[str]
    contributions: Vectors  # (n1, n2)
    score: float

    @property
    def residual(self) -> float:
        return self.score - float(self.contributions.sum(dtype=np.float64))

    def strongest(self, count: int, keep: "tuple[NDArray[np.bool_], NDArray[np.bool_]] | None" = None) -> list[Link]:
        """The word pairs that add most, strongest first; repetitions of a word are added up.

        keep: which words of each sentence to consider, (n1,) and (n2,); all but special tokens if not given.
        """
        keep1, keep2 = keep or [np.array([not is_special(word) for word in words]) for words in (self.words1, self.words2)]
        unique1, index1 = np.unique(self.words1, return_inverse=True)
        unique2, index2 = np.unique(self.words2, return_inverse=True)
        sums = np.zeros((len(unique1), len(unique2)))
        np.add.at(sums, (index1[:, None], index2[None, :]), self.contributions)
        sums[index1[~keep1]] = -np.inf
        sums[:, index2[~keep2]] = -np.inf
        order = np.argsort(-sums, axis=None, kind="stable")[: min(count, int(np.isfinite(sums).sum()))]
        rows, columns = np.unravel_index(order, sums.shape)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return [Link(str(unique1[i]), str(unique2[j]), float(sums[i, j])) for i, j in pairs]


def is_special(word: str) -> bool:
    """Whether a word is a special token such as [CLS], [SEP], <s> or </s>."""
    return SPECIAL.fullmatch(word) is not None


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


def split_mean_pooled(tokens1: TokenVectors, tokens2: TokenVectors) -> Attribution:
    """Split the cosine of two mean-pooled embeddings exactly, by tokens summed to words: cos = sum_ij h_i·h_j / (n m |u| |v|)."""
    h1, h2 = tokens1.vectors.astype(np.float64), tokens2.vectors.astype(np.float64)
    lengths = float(np.linalg.norm(h1.mean(0))) * float(np.linalg.norm(h2.mean(0)))
    by_token = h1 @ h2.T / (len(h1) * len(h2) * max(lengths, 1e-12))
    by_words = np.zeros((len(tokens1.words), len(tokens2.words)))
    np.add.at(by_words, (tokens1.word[:, None], tokens2.word[None, :]), by_token)
    score = cosine(tokens1.vectors.mean(0), tokens2.vectors.mean(0))
    return Attribution(EXACT, tokens1.words, tokens2.words, by_words.astype(np.float32), score)


def leave_one_out(
    words: tuple[list[str], list[str]], embeddings: tuple[Vectors, Vectors], without: tuple[Vectors, Vectors]
) -> Attribution:
    """Rank word pairs by how much more they cost removed one at a time than together, if the cosine cannot be split.

    embeddings: two vectors (dim,); without[k][i]: sentence k encoded again without its word i, (words, dim).
    """
    full1, full2 = (unit_rows(np.vstack([e[None], w])) for e, w in zip(embeddings, without, strict=True))
    scores = full1 @ full2.T  # row and column 0: nothing left out
    together = scores[0, 0] - scores[1:, :1] - scores[:1, 1:] + scores[1:, 1:]
    return Attribution(LEAVE_ONE_OUT, *words, together, float(scores[0, 0]))
