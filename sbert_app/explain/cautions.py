"""Notice what a similarity score cannot tell: a denial, another number, another word order, a language the model does not read.

Rules for English text. They miss much; what they report is meant to be true.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sbert_app.explain.quantities import differing
from sbert_app.explain.words import FUNCTION_WORDS, TokenVectors, content, is_special, overlap, shared_content, stem, words_of

UNKNOWN_SHARE = 0.34  # of the words with letters or symbols; in scripts other than Latin
UNKNOWN_SHARE_ELSEWHERE = 0.1
LETTERS_A_PIECE = 1.7  # at most: a script that is read letter by letter. English has 4 to 5, a language the model knows 3 and more
LETTERS_A_PIECE_DENSE = 0.8  # the same for DENSE scripts
PIECES_A_WORD = 1.5  # at least: words of a language the model does not know. English has 1.1 to 1.3
PIECES_A_SAMPLE_WORD = 2.0  # at least: a model that knows none of the languages of SAMPLE; one for many languages has 1.3 to 1.6
LEAST_LETTERS = 4
SAMPLE = (  # everyday words of German, French, Spanish, Italian, Portuguese and Dutch that are not English
    "Gepäck Rechnung möchte Kündigung zurück livraison remboursement voudrais bagages équipaje contraseña dónde también factura "
    "bagaglio consegna vorrei bolletta encomenda bagagem obrigado bestelling wachtwoord alstublieft"
)
OTHER_LANGUAGES = frozenset(  # frequent words of languages in Latin script that are no English words
    """der das und ist nicht ich ein eine einen mit auf für den dem wie wir zu von auch mein meine kein sie sich wo habe
    einem einer eines meinem meinen meiner keine keinen ihr ihre ihnen uns bei beim aus nach vom zum zur über durch ohne gegen seit
    haben wird wurde werden sind kann kommt gibt noch nur aber oder schon wieder sehr immer bitte dank danke vielen wann warum
    dass wenn mehr unser unsere unseren diese dieser dieses etwas viel zwischen damit dann jetzt hier
    im geht gehen funktioniert läuft macht heute gestern morgen neue neuen alle bis vor unter drei leider raus defekt kaputt
    le les est une dans pour pas que qui je vous nous avec mon ma sur ce cette et au du il elle mes où
    el los las una es por con para está mi se del muy y un como dónde qué
    quiero tengo puedo pero todavía muchas gracias cuando porque
    gli che di per non sono mio mia della nel dove è
    uma não com meu minha os em onde quero tenho você obrigado quando
    het een niet ik van voor zijn mijn en dat waar
    och jag inte det som jest się nie""".split()
)
# Also in English names and abbreviations: no evidence alone.
AT_HOME_TOO = frozenset("com est os non van con per para mi em del las los un".split())
SHORT = 5  # words; of them one that English does not have is enough, where the model cuts most words
ENGLISH = FUNCTION_WORDS - {"an", "in", "so", "was", "am", "will"}  # without what is frequent in German, too
# Scripts without spaces or with one sign a syllable: a few letters a piece are normal for models that read them.
DENSE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
NEGATION, NUMBERS, ORDER, LANGUAGE = "negation", "numbers", "order", "language"
NEGATIONS = frozenset(
    """not no never nobody none nothing nowhere neither nor cannot without
    dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent hadnt aint""".split()
)
BETWEEN = {"ever", "suitable", "compatible", "intended", "meant"}  # after a negation: what is denied comes after it
DENYING = frozenset(  # a sentence with one of these denies something without a negation
    """fail failed fails failing failure unable refuse refused refuses lack lacks lacked deny denied decline declined rather
    instead""".split()
)
NO_DENIAL = re.compile(  # phrases with a negation that deny nothing
    r"\b(?:not only|not just|not to mention|no doubt|no matter|no more than|no less than|no later than|nothing but|whether or not|"
    r"or not|if not|why not|why don't|no wonder|can't wait|can't help|don't forget|do not forget|no\.? \d+|not until|"
    r"no sooner|never mind)\b|[\"“'](?:no|not|never)[\"”']|,\s*\w+n't \w+\s*\?"
)
IN_SHORT = {NEGATION: "one may deny the other", NUMBERS: "numbers or dates differ", ORDER: "other word order"}
SPLIT_CONTRACTION = re.compile(r"\b(\w+?) ?n ?['’`´] ?t\b")  # "do n't", "don ’t"
ALIKE, HALF_ALIKE = 0.6, 0.5  # share of the shorter sentence's content that the other one has
LEAST_ORDERED = 3  # words
KINDS = {"weekday": "days", "month": "months", "day": "days", "clock": "times", "date": "dates", "year": "years"}
SCORE_ALONE = "which the score alone cannot tell"
PLACES = "first", "second"


def unread(sentence: str, tokens: TokenVectors, a_sample_word: float) -> str:
    """Why the model does not read this sentence: a clause that follows "the first sentence ", "" if it seems to.

    tokens: how its tokeniser splits the sentence; a_sample_word: in how many pieces it splits a word of SAMPLE.
    """
    words = zip(tokens.words, np.bincount(tokens.word, minlength=len(tokens.words)).tolist(), strict=True)
    written = [(word, count) for word, count in words if not is_special(word) and any(c.isalnum() or not c.isascii() for c in word)]
    if not written:
        return ""
    letters = sum(character.isalpha() for word, _ in written for character in word)
    count = sum(count for _, count in written)
    is_latin = in_latin(sentence)
    if tokens.unknown >= (UNKNOWN_SHARE if is_latin else UNKNOWN_SHARE_ELSEWHERE) * len(written):
        return "has signs that are not in this model's vocabulary" if tokens.unknown else ""
    if letters < LEAST_LETTERS:
        return ""
    if not is_latin:
        most = LETTERS_A_PIECE_DENSE if DENSE.search(sentence) else LETTERS_A_PIECE
        return "is in a script that this model reads letter by letter, not as words" if letters / count <= most else ""
    fragmented = count >= PIECES_A_WORD * len(written)
    if not fragmented and a_sample_word < PIECES_A_SAMPLE_WORD:
        return ""
    foreign = is_foreign(sentence, short=fragmented and len(written) <= SHORT)
    return "is not in English, and this model knows few of its words" if foreign else ""


def in_latin(sentence: str) -> bool:
    """Whether at least half of its letters are Latin ones."""
    latin = [character.isascii() or "\u00c0" <= character <= "\u024f" for character in sentence if character.isalpha()]
    return 2 * sum(latin) >= len(latin)


def is_foreign(sentence: str, short: bool = False) -> bool:
    """Whether a sentence in Latin script has frequent words or letters of other languages, and hardly any English ones.

    short: one such word is enough where there is no English one.
    """
    words = set(words_of(sentence))  # once each: "com" of addresses is Portuguese, too
    if not (known := words & OTHER_LANGUAGES):
        return False
    english = len(words & ENGLISH)
    if short and known - AT_HOME_TOO and not english:
        return True
    other = len(known) + sum(not word.isascii() for word in words - known)
    return other >= 2 and other > 2 * english


@dataclass(frozen=True)
class Caution:
    """One plain sentence about a pair, and its kind."""

    kind: str
    text: str


def cautions(sentence1: str, sentence2: str, tokens: Sequence[TokenVectors] = (), a_sample_word: float = 0.0) -> list[Caution]:
    """What to mind when reading the score of these sentences. tokens: of both, a_sample_word: as in `unread`, if known."""
    noticed = []
    for which, sentence, split in zip(PLACES, (sentence1, sentence2), tokens, strict=False):
        if reason := unread(sentence, split, a_sample_word):
            noticed.append(Caution(LANGUAGE, f"The {which} sentence {reason}: do not rely on this score."))
    if denial := _denial(sentence1, sentence2):
        noticed.append(Caution(NEGATION, f"The {denial}: one may deny the other, {SCORE_ALONE}."))
    if (different := differing(sentence1, sentence2)) and shared_content(sentence1, sentence2) >= HALF_ALIKE:
        first, second = different
        what = KINDS.get(first.kind, "units" if first.value == second.value else "numbers")
        text = f"The {what} differ: “{first.text}” in the first sentence, “{second.text}” in the second."
        noticed.append(Caution(NUMBERS, text))
    words = words_of(sentence1), words_of(sentence2)
    if not noticed and len(words[0]) >= LEAST_ORDERED and words[0] != words[1] and sorted(words[0]) == sorted(words[1]):
        text = f"Both sentences have the same words in another order: who does what may differ, {SCORE_ALONE}."
        noticed.append(Caution(ORDER, text))
    return noticed


def in_short(sentence1: str, sentence2: str) -> str:
    """What to mind in the score of these sentences, in a few words; "" for nothing."""
    if not all(any(map(str.isalnum, sentence)) for sentence in (sentence1, sentence2)):
        return "signs, no words"  # such as 👍 and 😡, which most models read as the same unknown sign
    return ", ".join(IN_SHORT[caution.kind] for caution in cautions(sentence1, sentence2))


def _denial(sentence1: str, sentence2: str) -> str:
    """Which sentence has a negation, before a word that both share, if the other has none; else ""."""
    joined = (SPLIT_CONTRACTION.sub(r"\1n't", sentence.lower().replace("’", "'")) for sentence in (sentence1, sentence2))
    words = [words_of(NO_DENIAL.sub(" ", sentence)) for sentence in joined]
    negated = [[position for position, word in enumerate(these) if _is_negation(word)] for these in words]
    if bool(negated[0]) == bool(negated[1]):
        return ""
    which = 0 if negated[0] else 1
    denying, other = words[which], words[1 - which]
    affirmed = [content([word for word in these if not _is_negation(word)]) for these in (denying, other)]
    if DENYING.intersection(other) or overlap(*affirmed) < ALIKE:
        return ""
    for position in negated[which]:
        word, later = denying[position], denying[position + 1 :]
        content_words = (word for word in later if word not in FUNCTION_WORDS | BETWEEN and not _is_negation(word))
        if stem(next(content_words, "")) in affirmed[1] and (word != "without" or "with" in other):
            return f"{PLACES[which]} sentence has “{word}”, the {PLACES[1 - which]} has not"
    return ""


def _is_negation(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")
