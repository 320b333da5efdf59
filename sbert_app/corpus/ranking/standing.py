"""The place of a row or a text in a corpus, the rank of one row among all for a query, and which words of the query it lacks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.ranking.lexical import STOP_WORDS, WORD, tokenize
from sbert_app.corpus.reader import Corpus
from sbert_app.errors import UserError

WORDS_OF_A_PART = 3  # a text of so many words is looked for inside of rows too
LEAST_LETTERS = 4  # of a word that may be a typo: shorter ones are one edit from too many others


@dataclass(frozen=True)
class QueryWords:
    """The words of a query, lower-cased, beside those of a row.

    shared: the row has them; lacking: it does not; beyond: of the shared ones those that occur only after what the model reads.
    typos: a lacking word that occurs nowhere in the corpus -> a word within one edit of it; in_row: those whose likely word the row
    has. stop_words: the query holds no other words.
    """

    shared: tuple[str, ...]
    lacking: tuple[str, ...]
    beyond: tuple[str, ...] = ()
    typos: dict[str, str] = field(default_factory=dict)
    in_row: tuple[str, ...] = ()
    stop_words: bool = False


def rank_of(scores: NDArray[np.floating], row: int, mask: NDArray[np.bool_] | None = None) -> int:
    """The rank of a row, 1 for the best, by scores of all rows, (n,). Equal scores rank in row order.

    mask: the rows that count, (n,); the row itself always does.
    """
    counted = np.ones(len(scores), dtype=bool) if mask is None else mask
    better = int((scores[counted] > scores[row]).sum())
    before = scores[:row][counted[:row]]
    return 1 + better + int((before == scores[row]).sum())


def position(rows: NDArray[np.int64], place: int) -> int | None:
    """The rank of a row in a ranking, None where it is not in it."""
    at = np.flatnonzero(rows == place)
    return int(at[0]) + 1 if len(at) else None


def place_of_row(corpus: Corpus, row: int) -> int | None:
    """The place of a row of the file in the corpus, None for a skipped one. Raises UserError for a row that the file has not."""
    if len(places := np.flatnonzero(corpus.rows == row)):
        return int(places[0])
    last = max(int(corpus.rows[-1]), *(skip.row for skip in corpus.skipped), 0)
    if not 1 <= row <= last:
        raise UserError(f"There is no row {row:,}: the rows of '{corpus.name}' are 1 to {last:,}.")
    return None


def place_of_text(sentences: Sequence[str], text: str, mask: NDArray[np.bool_] | None) -> int | None:
    """The first row with this text, else with a text that holds it, blanks and case aside; rows that fit the filters first."""
    wanted = _plain(text)
    texts = [_plain(sentence) for sentence in sentences]
    places = [place for place, other in enumerate(texts) if other == wanted]
    if not places and len(wanted.split()) >= WORDS_OF_A_PART:
        places = [place for place, other in enumerate(texts) if wanted in other]
    return next((place for place in places if mask is None or mask[place]), places[0] if places else None)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def query_words(
    query: str,
    text: str,
    vocabulary: Iterable[str],
    read: int | None = None,
    well_known: Callable[[str], bool] = lambda word: False,
) -> QueryWords:
    """Compare the words of a query with those of a text. vocabulary: all words of the corpus.

    read: how many characters of the text the model reads, None for all of them. well_known: whether a word is no typo, though the
    corpus does not have it.
    """
    stop_words = not any(word not in STOP_WORDS for word in WORD.findall(query.lower()))
    words = () if stop_words else tuple(dict.fromkeys(tokenize(query)))
    own = set(WORD.findall(text.lower()))
    shared, lacking = tuple(word for word in words if word in own), tuple(word for word in words if word not in own)
    visible = own if read is None else set(WORD.findall(text[:read].lower()))
    beyond = tuple(word for word in shared if word not in visible)
    known = set(vocabulary) if lacking else set()
    unknown = [word for word in lacking if word not in known and len(word) >= LEAST_LETTERS and not well_known(word)]
    typos, in_row = _typos(unknown, own, known)
    return QueryWords(shared, lacking, beyond, typos, in_row, stop_words)


def _typos(unknown: Sequence[str], own: set[str], known: set[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Unknown words with the word that may be meant, first one of the row; and those that the row has."""
    candidates, typos = [*sorted(own), *sorted(known)] if unknown else [], {}
    for word in unknown:
        meant = next((other for other in candidates if within_one_edit(word, other)), "")
        if meant and not any(letter.isdigit() for letter in word):
            typos[word] = meant
    return typos, tuple(word for word, meant in typos.items() if meant in own)


def within_one_edit(word: str, other: str) -> bool:
    """Whether one letter more, less or another, or two neighbours exchanged, make one word of the other.

    Not the first letter, which people hardly mistype (snails are no nails), and not a plural's s.
    """
    shorter, longer = sorted((len(word), len(other)))
    if shorter < LEAST_LETTERS - 1 or longer > shorter + 1:
        return False
    if word[0] != other[0] or word.removesuffix("s") == other.removesuffix("s"):
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    one, two = word[start:], other[start:]
    if one[1:] == two[1:] or one[1:] == two or one == two[1:]:
        return True
    return len(one) == len(two) > 1 and one[:2] == two[1::-1] and one[2:] == two[2:]
