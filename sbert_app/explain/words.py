"""Words of a sentence: which carry its content, where they are, and what each pair of two sentences' words adds to a score."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from sbert_app.vectors import Integers, Mask, Vectors, cosine, unit_rows

EXACT = "exact"
LEAVE_ONE_OUT = "leave-one-token-out"
SPECIAL = re.compile(r"\[[A-Z]+\]|</?[a-z]+>")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
WRITTEN = re.compile(r"\w+")  # a word as word search takes it
FUNCTION_WORDS = frozenset(  # without content of their own; negations are not among them: they decide what a sentence says
    """a about after all also am an and any are as at be because been before being but by can could did do does doing done for
    from had has have having he her here hers him his how i if in into is it its just may me might mine more most much must my
    of off on only or other others our ours out over own please shall she should so some such than that the their theirs them
    then there these they this those through to too under until up us very was we were what when where which while who whom
    whose why will with would yes you your yours i'm i've i'd i'll it's he's she's that's there's let's we're they're you're
    we've they've you've we'll you'll 's 're 've 'd 'll 'm s t re ve ll""".split()
)
SUFFIXES = ("ing", "ed", "es", "s", "e")
LEAST_STEM = 3  # letters
MOST_PAIRS = 5
WEAKEST_PAIR = 0.25  # of the strongest pair's share: weaker pairs are not marked


def words_of(sentence: str) -> list[str]:
    """The words in order, lower-cased, with straight apostrophes; no punctuation."""
    return [word.lower() for word in WORD.findall(sentence.replace("’", "'"))]


def stem(word: str) -> str:
    """The word without a common English ending, so that "love" and "loved" are equal. Not a dictionary form."""
    word = word.removesuffix("'s")
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= LEAST_STEM and not (suffix == "s" and word.endswith("ss")):
            word = word.removesuffix(suffix)
            break
    return word[:-1] if len(word) > LEAST_STEM and word[-1] == word[-2] else word


def content(words: Sequence[str]) -> set[str]:
    """The stems of the words that are no function words; of all words if there are only those."""
    return {stem(word) for word in words if word not in FUNCTION_WORDS} or {stem(word) for word in words}


def overlap(content1: set[str], content2: set[str]) -> float:
    """Share of the smaller set that is in the other, 0..1."""
    smaller = min(len(content1), len(content2))
    return len(content1 & content2) / smaller if smaller else 0.0


def shared_content(sentence1: str, sentence2: str) -> float:
    """How much of the shorter sentence's content the other one has, 0..1, by words."""
    return overlap(content(words_of(sentence1)), content(words_of(sentence2)))


def word_overlap(sentence1: str, sentence2: str) -> float:
    """Jaccard overlap of the lower-cased words, 0..1: the simplest baseline for an embedding."""
    words1, words2 = set(WRITTEN.findall(sentence1.lower())), set(WRITTEN.findall(sentence2.lower()))
    return len(words1 & words2) / len(words1 | words2) if words1 | words2 else 0.0


def is_special(word: str) -> bool:
    """Whether a word is a special token such as [CLS], [SEP], <s> or </s>."""
    return SPECIAL.fullmatch(word) is not None


def has_content(words: Sequence[str]) -> Mask:
    """For each word, whether it is neither a special token nor punctuation nor a function word, (n,)."""
    specials = np.array([is_special(word) for word in words], dtype=bool)
    quiet = np.array([_is_punctuation(word) or word.lower().replace("’", "'") in FUNCTION_WORDS for word in words], dtype=bool)
    content: Mask = ~specials & ~quiet
    return content if content.any() else ~specials  # such as in "to be or not to be"


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(c)[0] == "P" or (c.isascii() and not c.isalnum()) for c in word)


def spans(sentence: str, words: Sequence[str]) -> list[tuple[int, int] | None]:
    """Where each word begins and ends in the sentence, searched from left to right; None for a word that is not in it."""
    lowered = sentence.lower()
    text = lowered if len(lowered) == len(sentence) else sentence
    places, position = list[tuple[int, int] | None](), 0
    for word in words:
        start = -1 if is_special(word) else text.find(word.lower() if text is lowered else word, position)
        position = position if start < 0 else start + len(word)
        places.append(None if start < 0 else (start, position))
    return places


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

    def strongest(self, count: int, keep: "tuple[Mask, Mask] | None" = None) -> list[Link]:
        """The word pairs that add most, strongest first; repetitions are added up. keep: the words to consider, (n1,) and (n2,)."""
        keep1, keep2 = keep or [np.array([not is_special(word) for word in words]) for words in (self.words1, self.words2)]
        sums: defaultdict[tuple[str, str], float] = defaultdict(float)
        for word1, shares in compress(zip(self.words1, self.contributions.tolist(), strict=True), keep1):
            for word2, share in compress(zip(self.words2, shares, strict=True), keep2):
                sums[word1, word2] += share
        return [Link(*words, share) for words, share in sorted(sums.items(), key=lambda pair: (-pair[1], pair[0]))[:count]]


@dataclass(frozen=True)
class TokenVectors:
    """One sentence before pooling. Tokens of one word share a number in `word`; special tokens are words of their own."""

    words: list[str]
    word: Integers  # (T,)
    vectors: Vectors  # (T, dim)
    truncated: bool
    unknown: int = 0  # tokens that are not in the vocabulary


def by_word(encoding: Any, text: str, hidden: Vectors, unknown: str | None) -> TokenVectors:
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
    cut, unread = bool(encoding.overflowing), encoding.tokens.count(unknown) if unknown else 0
    return TokenVectors(words, np.array(numbers), hidden[: len(numbers)], cut, unread)


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


@dataclass(frozen=True)
class MatchedPair:
    """Word `first` of sentence 1 and word `second` of sentence 2, by position. `share`: what the two add to the score."""

    first: int
    second: int
    share: float


def matched_pairs(attribution: Attribution) -> list[MatchedPair]:
    """The strongest pairs of words with content, strongest first; each word occurs in at most one."""
    usable = np.outer(has_content(attribution.words1), has_content(attribution.words2))
    shares = np.where(usable, attribution.contributions, -np.inf)
    pairs: list[MatchedPair] = []
    while len(pairs) < MOST_PAIRS and shares.size:
        first, second = map(int, np.unravel_index(int(shares.argmax()), shares.shape))
        share = float(shares[first, second])
        if not np.isfinite(share) or share <= 0 or (pairs and share < WEAKEST_PAIR * pairs[0].share):
            break
        pairs.append(MatchedPair(first, second, share))
        shares[first, :] = shares[:, second] = -np.inf
    return pairs
