"""What a search gives, and the ways to rank; what a session keeps of an indexing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.ranking.lexical import Span
from sbert_app.corpus.ranking.maxsim import WordMatch
from sbert_app.wording import amount

MAXSIM = "maxsim"  # a way to rank: hybrid, and the best hits compared token by token
RANKINGS = {
    MAXSIM: "by meaning and by words, and the best 50 again by how well each word of the query is met",
    HYBRID: "by meaning and by words (BM25)",
    DENSE: "by meaning alone (cosine)",
    WORDS: "by words alone (BM25)",
}
DEFAULT_RANKING = MAXSIM
FORMER_MODEL = "former"  # what can stand beside the hits, as any of RANKINGS
NAMED, MOST_REPEATS = 10, 2_000  # rows that repeat the text of a hit: named on it; of all hits, in files
MOST_ROWS = 10_000  # with a cosine of at least something


@dataclass(frozen=True)
class Hit:
    """A row that was found."""

    rank: int
    row: int  # in the file, counted from 1 without the header
    score: float  # cosine, of the passage if it has one
    sentence: str
    metadata: dict[str, str]
    title: str = ""  # the text of the first column, if the sentence is joined from several
    bm25: float | None = None  # set, as are the next two, if the hits were ranked by it
    maxsim: float | None = None
    cross_score: float | None = None
    cross_share: float | None = None  # the place of cross_score in the model's range, 0..1; None for logits, which have none
    matches: tuple[WordMatch, ...] = ()  # which words met, the heaviest first, if the hits were compared token by token
    best: Span | None = None  # the sentence of a longer text that matches best
    passage: Span | None = None  # of a text longer than the model reads, what its scores are of; None: the sentence as it is read
    row_name: str = ""  # where rows are not numbered by one file: "17 of b.csv"
    copies: int = 0  # how many other rows that fit have the same text; of a collection, among those looked at
    copy_rows: tuple[int | str, ...] = ()  # the first of them
    context: Span | None = None  # the passage with its neighbours: what MaxSim and the cross-encoder read of a long text

    @property
    def place(self) -> str:
        """The row as it is written on screen, after the word "row"."""
        return self.row_name or f"{self.row:,}"

    @property
    def compared(self) -> str:
        """The text that MaxSim and the cross-encoder read."""
        return self.sentence[slice(*self.context)] if self.context else self.sentence


@dataclass(frozen=True)
class Store:
    """The collection that was searched."""

    name: str
    kind: str  # of its index
    recall: float  # the share of the ten closest rows that it finds, measured on `queries` rows
    queries: int
    filtered: bool  # only rows that fit filters were searched; how many these are is unknown

    @property
    def index(self) -> str:
        """The index and how well it finds, in words."""
        measured = f", recall@10 {self.recall:.3f}, measured on {self.queries:,} rows" if self.queries else ""
        return f"{self.kind} index{measured}"


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first."""

    query: str
    hits: list[Hit]
    milliseconds: dict[str, float]  # by stage
    model: str
    searched: int  # all rows of the corpus
    fitting: int  # rows that fit the filters; of a collection all its rows
    ranking: str = DENSE  # one of RANKINGS
    cross_encoder: str = ""  # that ordered the hits
    weak: float = -1.0  # 19 of 20 pairs written to be related score higher under this model; -1: not measured
    store: Store | None = None  # if a collection was searched
    cautions: tuple[str, ...] = ()  # on rows that a filter, and texts and a query that the model, could not read or not whole
    read: int | None = None  # how many rows the model has read, None for all
    # By the row of a hit, the other rows with its text, each with its metadata; of all hits at most MOST_REPEATS.
    repeats: Mapping[int, list[tuple[int | str, dict[Any, Any]]]] = field(default_factory=dict)

    @property
    def extent(self) -> str:
        """The number of hits, of all rows with their texts if these are more, and of how many rows."""
        texts, copies, rows = len(self.hits), sum(hit.copies for hit in self.hits), f"{self.searched:,}"
        shown = f"{amount(texts, 'text')} in {texts + copies:,} rows" if copies else f"{texts:,}"
        rows += f" ({self.read:,} read so far)" if self.read is not None else ""
        if self.store:
            return f"{shown} of {rows}{', of those that fit the filters' if self.store.filtered else ''}"
        return f"{shown} of {rows}" if self.fitting == self.searched else f"{shown} of {self.fitting:,} that fit ({rows} in all)"

    def counted(self, least: float) -> str:
        """How many there are, if these are all with such a cosine."""
        return f"{self.extent} have a cosine of at least {least:g} with “{self.query}”."


@dataclass(frozen=True)
class FormerIndex:
    """The index that the open corpus had before it was indexed again, to compare the two models."""

    indexed: IndexedCorpus
    of_corpus: ClassVar[bool] = True


@dataclass(frozen=True)
class Indexing:
    """How the open corpus was indexed: seconds, sentences encoded a second, 0 if all came from the cache; and what to note."""

    seconds: float
    rate: float
    notes: tuple[str, ...] = ()
    of_corpus: ClassVar[bool] = True
