"""Notice a sentence that a model was hardly trained to read, from how its tokeniser splits the words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sbert_app.explain.words import FUNCTION_WORDS, words_of

UNKNOWN_SHARE = 0.34  # of the words with letters or symbols; in scripts other than Latin
UNKNOWN_SHARE_ELSEWHERE = 0.1
LETTERS_A_PIECE = (
    1.7  # at most: a script that is read letter by letter. English has 4 to 5, a language the model knows has 3 and more
)
LETTERS_A_PIECE_DENSE = 0.8  # the same for DENSE scripts
PIECES_A_WORD = 1.5  # at least: words of a language the model does not know. English has 1.1 to 1.3
PIECES_A_SAMPLE_WORD = 2.0  # at least: a model that knows none of the languages of SAMPLE; one for many languages has 1.3 to 1.6
LEAST_LETTERS = 4
# Everyday words of German, French, Spanish, Italian, Portuguese and Dutch that are not English.
SAMPLE = (
    "Gepäck Rechnung möchte Kündigung zurück livraison remboursement voudrais bagages équipaje contraseña dónde también factura "
    "bagaglio consegna vorrei bolletta encomenda bagagem obrigado bestelling wachtwoord alstublieft"
)
# Frequent words of languages in Latin script that are no English words.
OTHER_LANGUAGES = frozenset(
    """der das und ist nicht ich ein eine einen mit auf für den dem wie wir zu von auch mein meine kein sie sich wo habe
    le les est une dans pour pas que qui je vous nous avec mon ma sur ce cette et au du il elle mes où
    el los las una es por con para está mi se del muy y un como dónde qué
    gli che di per non sono mio mia della nel dove è
    uma não com meu minha os em onde
    het een niet ik van voor zijn mijn en dat waar
    och jag inte det som jest się nie""".split()
)
# Scripts without spaces or with one sign a syllable: a few letters a piece are normal for models that read them.
DENSE = re.compile(r"[\u1100-\u11ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class Pieces:
    """How a tokeniser splits a sentence. `words`: each word and its number of pieces, without special tokens; `unknown`: pieces
    that are not in the vocabulary; `a_sample_word`: pieces a word of SAMPLE."""

    words: Sequence[tuple[str, int]]
    unknown: int
    a_sample_word: float


def unread(sentence: str, pieces: Pieces) -> str:
    """Why the model does not read this sentence: a clause that follows "the first sentence ", "" if it seems to."""
    written = [(word, count) for word, count in pieces.words if any(not _is_punctuation(character) for character in word)]
    if not written:
        return ""
    letters = sum(character.isalpha() for word, _ in written for character in word)
    count = sum(count for _, count in written)
    latin = sum(character.isascii() or "\u00c0" <= character <= "\u024f" for character in sentence if character.isalpha())
    is_latin = latin >= letters / 2
    if pieces.unknown >= (UNKNOWN_SHARE if is_latin else UNKNOWN_SHARE_ELSEWHERE) * len(written):
        return "has signs that are not in this model's vocabulary" if pieces.unknown else ""
    if letters < LEAST_LETTERS:
        return ""
    if not is_latin:
        most = LETTERS_A_PIECE_DENSE if DENSE.search(sentence) else LETTERS_A_PIECE
        return "is in a script that this model reads letter by letter, not as words" if letters / count <= most else ""
    fragmented = count >= PIECES_A_WORD * len(written) or pieces.a_sample_word >= PIECES_A_SAMPLE_WORD
    return "is not in English, and this model knows few of its words" if fragmented and _is_foreign(sentence) else ""


def _is_foreign(sentence: str) -> bool:
    """Whether a sentence in Latin script has frequent words or letters of other languages, and hardly any English ones."""
    words = set(words_of(sentence))  # once each: "com" of addresses is Portuguese, too
    english, known = sum(word in FUNCTION_WORDS for word in words), sum(word in OTHER_LANGUAGES for word in words)
    other = known + sum(word not in OTHER_LANGUAGES and not word.isascii() for word in words)
    return known >= 1 and other >= 2 and other > 2 * english


def _is_punctuation(character: str) -> bool:
    return not character.isalnum() and character.isascii()
