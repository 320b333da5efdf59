"""Words that can name a topic, without residue of markup, and the forms of one word: ship, ships, shipping."""

import re
from array import array
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence

import numpy as np

from sbert_app.explain.cautions import OTHER_LANGUAGES
from sbert_app.explain.words import FUNCTION_WORDS
from sbert_app.vectors import Integers

TAGS = "a|b|br|div|em|font|h[1-6]|i|img|li|ol|p|pre|script|span|strong|table|td|th|tr|u|ul"
MARKUP = re.compile(rf"</?(?:{TAGS})\b[^<>]{{0,300}}>|&?(?:\#x?\d+|amp|apos|gt|lt|nbsp|quot);|(?:https?://|www\.)\S+")
WORD = r"\b[^\W\d_][\w+#-]{0,29}(?:'(?!s\b)[\w+#-]{0,9})?\b[+#]*"  # starts with a letter, ends before 's; c++ and c# stay whole
TOKEN = re.compile(rf"({WORD})|[\d.,;:!?()]+")  # findall gives "" for a number or a stop: no term goes across
ENGLISH_TOO = {"den", "dove", "os", "van"}  # of OTHER_LANGUAGES: they may name a topic
STOP_WORDS = FUNCTION_WORDS.union(  # they carry no topic in any cluster
    OTHER_LANGUAGES - ENGLISH_TOO,
    """s t d m re ve ll n't able again ago already always another anyone anything back both came can't cannot come comes coming
couldn't didn't doesn't don don't down during each even every everything few find first gave get gets getting give gives giving
go goes going gone got help however instead isn isn't keep keeps kept know known last let like long made make makes making many
mean means need needed needs never new no nor not nothing now often once one put quite rather really said same saw say saying
says see seem seems seen since someone something still take taken takes taking tell thank thanks thing things though today
together told took toward trying try tried two upon use used uses using usually via want wanted wants way well went whether
within without won won't yet die
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
amp com font href html http https lt gt nbsp quot src www
""".split(),
)
NO_PLURALS = frozenset(["customs", "goods", "news"])
SHORTEST = 3  # letters of the shorter form
STEM, SURE_STEM, ENDING, SUFFIX = 4, 6, 2, 4  # letters that two forms share, at least; that they add, at most: карты, spammer


class Tokens:
    """The tokens of n sentences in their order, as numbers of distinct words."""

    def __init__(self, sentences: Sequence[str]) -> None:
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        tokens, lengths = array("i"), array("i")
        for sentence in sentences:
            text = sentence.lower()
            if "<" in text or ";" in text or "/" in text or "www." in text:  # spares most sentences the slower expression
                text = MARKUP.sub(".", text)
            line = [numbers[token] for token in TOKEN.findall(text)]
            tokens.extend(line)
            lengths.append(len(line))
        self.words = list(numbers) or [""]
        self.numbers = np.frombuffer(tokens, np.int32)
        self.rows = np.repeat(np.arange(len(sentences), dtype=np.int32), np.frombuffer(lengths, np.int32))
        self.topical = np.array([_topical(word) for word in numbers] or [False])[self.numbers]  # per token

    def forms(self) -> Integers:
        """Per distinct word the number of the most frequent form of the same word; of two as frequent ones, of the shorter."""
        uses = np.bincount(self.numbers, minlength=len(self.words)).tolist()
        number_of = {word: number for number, word in enumerate(self.words) if _topical(word)}
        bases = [shortest_form(word, number_of) for word in self.words]
        shown: dict[str, int] = {}
        for number in sorted(range(len(bases)), key=lambda i: (uses[i], -len(self.words[i]))):
            shown[bases[number]] = number
        return np.array([shown[base] for base in bases], np.int64)


def shortest_form(word: str, known: Container[str]) -> str:
    """The shortest known form of an English word: ship for shipping; other languages rarely have such pairs."""
    while shorter := next((form for form in _shorter(word) if len(form) >= SHORTEST and form in known), ""):
        word = shorter
    return word


def _shorter(word: str) -> Iterator[str]:
    """What the word may be a form of: without plural, -ing or -ed."""
    if word.endswith(("ies", "ied")):
        yield word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield word[:-2]
    if word.endswith("s") and not word.endswith("ss") and word not in NO_PLURALS:
        yield word[:-1]
    stem = word.removesuffix("ing") if word.endswith("ing") else word.removesuffix("ed")
    if len(stem) == len(word) or len(stem) < SHORTEST:
        return
    doubled = stem[-1] == stem[-2]
    if doubled or len(stem) > SHORTEST:
        yield stem
    if doubled:
        yield stem[:-1]
    yield stem + "e"
    if word.endswith("ing"):
        yield stem + "ed"


def akin(one: str, other: str) -> bool:
    """Whether two words of any language look like forms of one: most letters at the start are the same."""
    shorter, longer = sorted((one, other), key=len)
    same = next((i for i, letter in enumerate(shorter) if letter != longer[i]), len(shorter))
    left = len(longer) - same
    return one == other or same >= SURE_STEM or (same >= STEM and left <= (SUFFIX if same == len(shorter) else ENDING))


def _topical(word: str) -> bool:
    """Whether a word can name a topic: no stop word, no adverb such as accidentally, no single letter save an ideograph."""
    adverb = len(word) > 6 and word.endswith("ally")
    return bool(word) and word not in STOP_WORDS and not adverb and (len(word) > 1 or word > "\u2e80")
