"""Words of a sentence: which carry its content, where they are in the text, and which words of two sentences belong together."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.explain.attribution import Attribution, is_special

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
WRITTEN = re.compile(r"\w+")  # a word as word search takes it
# Words without content of their own. Negations are not among them: they decide what a sentence says.
FUNCTION_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being but by can could did do does doing done for
    from had has have having he her here hers him his how i if in into is it its just may me might mine more most much must my
    of off on only or other others our ours out over own please shall she should so some such than that the their theirs them
    then there these they this those through to too under until up us very was we were what when where which while who whom
    whose why will with would yes you your yours i'm i've i'd i'll it's he's she's that's there's let's we're they're you're
    we've they've you've we'll you'll 's 're 've 'd 'll 'm""".split()
)
SUFFIXES = ("ing", "ed", "es", "s", "e")
LEAST_STEM = 3  # letters
MOST_PAIRS = 5
WEAKEST_PAIR = 0.25  # of the strongest pair's share: weaker pairs are not marked


def words_of(sentence: str) -> list[str]:
    """The words in order, lower-cased, with straight apostrophes; no punctuation."""
    return [word.lower().replace("’", "'") for word in WORD.findall(sentence)]


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


def has_content(words: Sequence[str]) -> NDArray[np.bool_]:
    """For each word, whether it is neither a special token nor punctuation nor a function word, (n,).

    If no word has content, such as in "to be or not to be", only special tokens have none.
    """
    specials = np.array([is_special(word) for word in words], dtype=bool)
    quiet = np.array([_is_punctuation(word) or word.lower().replace("’", "'") in FUNCTION_WORDS for word in words], dtype=bool)
    content: NDArray[np.bool_] = ~specials & ~quiet
    return content if content.any() else ~specials


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(c)[0] == "P" or (c.isascii() and not c.isalnum()) for c in word)


def spans(sentence: str, words: Sequence[str]) -> list[tuple[int, int] | None]:
    """Where each word begins and ends in the sentence, searched from left to right; None for a word that is not in it."""
    lowered = sentence.lower()
    text = lowered if len(lowered) == len(sentence) else sentence
    places: list[tuple[int, int] | None] = []
    position = 0
    for word in words:
        start = -1 if is_special(word) else text.find(word.lower() if text is lowered else word, position)
        if start < 0:
            places.append(None)
        else:
            position = start + len(word)
            places.append((start, position))
    return places


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
        shares[first, :] = -np.inf
        shares[:, second] = -np.inf
    return pairs
