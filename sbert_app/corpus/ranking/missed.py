"""Why a row was not found: its rank and score in each way to rank, what is against it, and the reason in one sentence."""

from collections.abc import Callable
from dataclasses import dataclass

from sbert_app.corpus.ranking.standing import QueryWords
from sbert_app.wording import plural

MEANING, BM25, TOGETHER, WORD_BY_WORD = "meaning", "words", "together", "word by word"  # ways to rank, as the answer names them
SKIPPED, FILTER, HIT, APPROXIMATE = "skipped", "filter", "hit", "approximate index"
STOP_WORDS, CUT, TYPO, BEYOND = "stop words", "cut text", "typo", "beyond the hits shown"
OTHER_WORDS, LOWER = "other words", "others fit better"
NONE = QueryWords((), ())


@dataclass(frozen=True)
class Standing:
    """The row in one way to rank. rank: 1 for the best, None where it is not ranked; score: None where there is none.

    score: a cosine, a BM25 score, the sum of z-scores, or a MaxSim score. note: why there is no rank.
    """

    way: str
    rank: int | None
    score: float | None
    note: str = ""


@dataclass(frozen=True)
class HidingFilter:
    """A filter that hides the row: its column, the row's value there, and the filter in words."""

    column: str
    value: str
    filter: str


@dataclass(frozen=True)
class Miss:
    """What was found out about an expected row, which may be a hit after all.

    row: its number in the file. in_corpus: False for a text that the corpus does not hold: then the row is the most similar one.
    rank: in the ranking in force, None where it is not ranked; top: how many hits are shown; of: how many rows are ranked. weak:
    the cosine that 19 of 20 related pairs exceed. read, length: how many of the text's characters the model reads. skipped: why the
    row was left out when the file was read. Where a filter hides the row, the ranks are those without filters.
    """

    query: str
    row: int
    sentence: str = ""
    in_corpus: bool = True
    ranking: str = ""
    rank: int | None = None
    top: int = 0
    of: int = 0
    standings: tuple[Standing, ...] = ()
    words: QueryWords = NONE
    filters: tuple[HidingFilter, ...] = ()
    missed_by_index: bool = False
    weak: float = -1.0
    read: int = 0
    length: int = 0
    skipped: str = ""

    @property
    def cosine(self) -> float:
        return next((standing.score or 0.0 for standing in self.standings if standing.way == MEANING), 0.0)

    @property
    def reason(self) -> str:
        """The first that applies: what keeps the row out altogether, then what makes it rank low."""
        words = self.words
        is_hit = self.rank is not None and self.rank <= self.top
        far = not words.shared and self.cosine < self.weak
        reasons = {
            SKIPPED: bool(self.skipped),
            FILTER: bool(self.filters),
            HIT: is_hit,
            APPROXIMATE: self.missed_by_index,
            STOP_WORDS: words.stop_words,
            CUT: bool(words.beyond) and 2 * len(words.beyond) >= len(words.shared),
            TYPO: bool(words.in_row),
            BEYOND: self.rank is not None and not far,
            OTHER_WORDS: not words.shared,
            LOWER: True,
        }
        return next(reason for reason, applies in reasons.items() if applies)

    @property
    def in_words(self) -> str:
        """The reason in one sentence."""
        return SENTENCES[self.reason](self)

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


def _filter(miss: Miss) -> str:
    which = "; ".join(f"{hiding.filter}, but its {hiding.column} is “{hiding.value or 'blank'}”" for hiding in miss.filters)
    rank = f" Without {plural(len(miss.filters), 'it', 'them')} it would rank {miss.rank:,}." if miss.rank else ""
    return f"Row {miss.row:,} is hidden by {plural(len(miss.filters), 'a filter', 'filters')}: {which}.{rank}"


def _cut(miss: Miss) -> str:
    is_are = plural(len(miss.words.beyond), "is", "are")
    return (
        f"{quoted(miss.words.beyond)} of the query {is_are} only behind what the model reads of row {miss.row:,}: "
        f"its first {miss.read:,} of {miss.length:,} characters."
    )


def _typo(miss: Miss) -> str:
    which = " and ".join(f"“{word}” (row {miss.row:,} has “{miss.words.typos[word]}”)" for word in miss.words.in_row)
    return f"The query seems to hold a typo: no row has the word {which}."


def _other_words(miss: Miss) -> str:
    far = f"its meaning is far: cosine {miss.cosine:.2f}, while 19 of 20 related pairs are above {miss.weak:.2f}"
    lower = f"many rows are closer in meaning than its cosine of {miss.cosine:.2f}"
    meaning = far if miss.cosine < miss.weak else lower
    return f"Row {miss.row:,} has no word of the query, and {meaning}."


def _lower(miss: Miss) -> str:
    better = min((standing.rank - 1 for standing in miss.standings if standing.rank), default=0)
    lacking = f" and lacks {quoted(miss.words.lacking)}" if miss.words.lacking else ""
    return f"Row {miss.row:,} has {quoted(miss.words.shared)} of the query{lacking}; at least {better:,} rows fit it better."


SENTENCES: dict[str, Callable[[Miss], str]] = {
    SKIPPED: lambda miss: f"Row {miss.row:,} was skipped when the file was read: {miss.skipped}.",
    FILTER: _filter,
    HIT: lambda miss: f"Row {miss.row:,} is a hit, at rank {miss.rank:,}.",
    APPROXIMATE: lambda miss: (
        f"The approximate index missed row {miss.row:,}: by its cosine it ranks "
        f"{next(each.rank or 0 for each in miss.standings if each.way == MEANING):,}."
    ),
    STOP_WORDS: lambda miss: "The query holds only stop words, such as “the” and “how”: it names no topic.",
    CUT: _cut,
    TYPO: _typo,
    BEYOND: lambda miss: f"Row {miss.row:,} ranks {miss.rank:,}, and the first {miss.top:,} are shown. Show more hits.",
    OTHER_WORDS: _other_words,
    LOWER: _lower,
}
