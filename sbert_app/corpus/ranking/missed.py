"""Why a row was not found: its rank and score in each way to rank, the words that it lacks, and the reason in one sentence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sbert_app.corpus.ranking import lexical
from sbert_app.corpus.ranking.lexical import WORD, tokenize
from sbert_app.wording import plural

MEANING, BM25, TOGETHER, WORD_BY_WORD = "meaning", "words", "together", "word by word"  # ways to rank, as the answer names them
SKIPPED, FILTER, HIT, APPROXIMATE = "skipped", "filter", "hit", "approximate index"
STOP_WORDS, CUT, TYPO, BEYOND = "stop words", "cut text", "typo", "beyond the hits shown"
OTHER_WORDS, LOWER = "other words", "others fit better"
LEAST_LETTERS = 4  # of a word that may be a typo: shorter ones are one edit from too many others


@dataclass(frozen=True)
class QueryWords:
    """The words of a query, lower-cased, beside those of a row."""

    shared: tuple[str, ...]  # the row has them
    lacking: tuple[str, ...]
    beyond: tuple[str, ...] = ()  # of the shared ones those that occur only after what the model reads
    typos: dict[str, str] = field(default_factory=dict)  # a lacking word that no row of the corpus has -> a word within one edit
    in_row: tuple[str, ...] = ()  # those whose likely word the row has
    stop_words: bool = False  # the query holds no other words


@dataclass(frozen=True)
class Standing:
    """The row in one way to rank."""

    way: str
    rank: int | None  # 1 for the best, None where it is not ranked
    score: float | None  # a cosine, a BM25 score, the sum of z-scores, or a MaxSim score; None where there is none
    note: str = ""  # why there is no rank


@dataclass(frozen=True)
class HidingFilter:
    """A filter that hides the row: its column, the row's value there, and the filter in words."""

    column: str
    value: str
    filter: str


@dataclass(frozen=True)
class Miss:
    """What was found out about an expected row, which may be a hit after all."""

    query: str
    row: int  # its number in the file
    sentence: str = ""
    in_corpus: bool = True  # False for a text that the corpus does not hold: then the row is the most similar one
    ranking: str = ""  # the ranking in force
    rank: int | None = None  # in that, None where it is not ranked
    top: int = 0  # how many hits are shown
    of: int = 0  # how many texts are ranked
    standings: tuple[Standing, ...] = ()
    words: QueryWords = QueryWords((), ())
    filters: tuple[HidingFilter, ...] = ()  # that hide the row: then the ranks are those without these
    missed_by_index: bool = False
    weak: float = -1.0  # the cosine that 19 of 20 related pairs exceed
    read: int = 0  # how many of the text's `length` characters the model reads
    length: int = 0
    skipped: str = ""  # why the row was left out when the file was read

    @property
    def cosine(self) -> float:
        return next((standing.score or 0.0 for standing in self.standings if standing.way == MEANING), 0.0)

    @property
    def reason(self) -> str:
        return self._because()[0]

    @property
    def in_words(self) -> str:
        """The reason in one sentence."""
        return self._because()[1]

    def _because(self) -> tuple[str, str]:
        """The first reason that applies, and its sentence: what keeps the row out altogether, then what makes it rank low."""
        row = f"row {self.row:,}"
        if self.skipped:
            return SKIPPED, f"{row.capitalize()} was skipped when the file was read: {self.skipped}."
        if self.filters:
            which = "; ".join(f"{hiding.filter}, but its {hiding.column} is “{hiding.value or 'blank'}”" for hiding in self.filters)
            rank = f" Without {plural(len(self.filters), 'it', 'them')} it would rank {self.rank:,}." if self.rank else ""
            return FILTER, f"{row.capitalize()} is hidden by {plural(len(self.filters), 'a filter', 'filters')}: {which}.{rank}"
        if self.rank is not None and self.rank <= self.top:
            return HIT, f"{row.capitalize()} is a hit, at rank {self.rank:,}."
        if self.missed_by_index:
            rank_by_cosine = next(standing.rank or 0 for standing in self.standings if standing.way == MEANING)
            return APPROXIMATE, f"The approximate index missed {row}: by its cosine it ranks {rank_by_cosine:,}."
        return self._ranks_low(row)

    def _ranks_low(self, row: str) -> tuple[str, str]:
        words = self.words
        if words.stop_words:
            return STOP_WORDS, "The query holds only stop words, such as “the” and “how”: it names no topic."
        if words.beyond and 2 * len(words.beyond) >= len(words.shared):
            behind = f"{plural(len(words.beyond), 'is', 'are')} only behind what the model reads of {row}"
            return CUT, f"{quoted(words.beyond)} of the query {behind}: its first {self.read:,} of {self.length:,} characters."
        if words.in_row:
            which = " and ".join(f"“{word}” ({row} has “{words.typos[word]}”)" for word in words.in_row)
            return TYPO, f"The query seems to hold a typo: no row has the word {which}."
        far = self.cosine < self.weak
        if self.rank is not None and (words.shared or not far):
            return BEYOND, f"{row.capitalize()} ranks {self.rank:,}, and the first {self.top:,} are shown. Show more hits."
        if not words.shared:
            below = f"its meaning is far: cosine {self.cosine:.2f}, while 19 of 20 related pairs are above {self.weak:.2f}"
            meaning = below if far else f"many rows are closer in meaning than its cosine of {self.cosine:.2f}"
            return OTHER_WORDS, f"{row.capitalize()} has no word of the query, and {meaning}."
        better = min((standing.rank - 1 for standing in self.standings if standing.rank), default=0)
        lacking = f" and lacks {quoted(words.lacking)}" if words.lacking else ""
        has = f"{row.capitalize()} has {quoted(words.shared)} of the query{lacking}"
        return LOWER, f"{has}; at least {better:,} rows fit it better."

    @property
    def lines(self) -> list[str]:
        """The answer for the shell."""
        texts = [] if self.in_corpus else [f"The corpus holds no such text; the most similar row is {self.row:,}: {self.sentence}"]
        texts.append(self.in_words)
        for standing in self.standings:
            rank = "–" if standing.rank is None else f"{standing.rank:,}"
            score = "" if standing.score is None else f"{standing.score:.3f}"
            texts.append(f"{standing.way:14} rank {rank:>6}  score {score:>7}  {standing.note}".rstrip())
        return [*texts, f"It lacks {quoted(self.words.lacking)}."] if self.words.lacking else texts


def quoted(words: tuple[str, ...]) -> str:
    """Words in quotation marks: “a”, “b” and “c”."""
    marked = [f"“{word}”" for word in words]
    return " and ".join(filter(None, [", ".join(marked[:-1]), *marked[-1:]]))


def query_words(
    query: str, text: str, vocabulary: Iterable[str], read: int | None = None, well_known: Callable[[str], bool] = lambda _: False
) -> QueryWords:
    """Compare the words of a query with those of a text. vocabulary: all words of the corpus.

    read: how many characters of it the model reads, None for all. well_known: whether a word that the corpus lacks is no typo.
    """
    stop_words = not any(word not in lexical.STOP_WORDS for word in WORD.findall(query.lower()))
    words = () if stop_words else tuple(dict.fromkeys(tokenize(query)))
    own = set(WORD.findall(text.lower()))
    shared, lacking = tuple(word for word in words if word in own), tuple(word for word in words if word not in own)
    visible = set(WORD.findall(text[:read].lower()))
    beyond = tuple(word for word in shared if word not in visible)
    known = set(vocabulary) if lacking else set()
    unknown = [word for word in lacking if word not in known and len(word) >= LEAST_LETTERS and not well_known(word)]
    candidates = [*sorted(own), *sorted(known)] if unknown else []  # a word of the row is meant before others
    meant = {word: next((other for other in candidates if within_one_edit(word, other)), "") for word in unknown}
    typos = {word: other for word, other in meant.items() if other and not any(letter.isdigit() for letter in word)}
    in_row = tuple(word for word, other in typos.items() if other in own)
    return QueryWords(shared, lacking, beyond, typos, in_row, stop_words)


def within_one_edit(word: str, other: str) -> bool:
    """Whether one letter more, less or another, or two neighbours exchanged, make one word of the other; no plural's s."""
    shorter, longer = sorted((len(word), len(other)))
    if shorter < LEAST_LETTERS - 1 or longer > shorter + 1:
        return False
    # People hardly mistype the first letter: snails are no nails.
    if word[0] != other[0] or word.removesuffix("s") == other.removesuffix("s"):
        return False
    start = 0
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    one, two = word[start:], other[start:]
    if one[1:] == two[1:] or one[1:] == two or one == two[1:]:
        return True
    return len(one) == len(two) > 1 and one[:2] == two[1::-1] and one[2:] == two[2:]
