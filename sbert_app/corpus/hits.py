"""What a search gives, and the ways to rank; what a session keeps of an indexing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sbert_app.corpus.indexed import DENSE, HYBRID, WORDS, IndexedCorpus
from sbert_app.corpus.ranking.lexical import Span
from sbert_app.corpus.ranking.maxsim import WordMatch

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


@dataclass(frozen=True)
class Hit:
    """A hit. row: its row in the file, counted from 1 without the header; score: cosine, of a passage 0.08 less.

    bm25, maxsim, cross_score: set if the hits were ranked by them. matches: which words met, the heaviest first, if the hits were
    compared token by token; best: the first and last character + 1 of the sentence of a longer text that matches best.
    copies: how many other rows that fit have the same text, copy_rows: the first of them; of a collection, among those looked at.
    passage: those of the part of a text longer than the model reads that its scores are of, None for the sentence as it is read.
    """

    rank: int
    row: int
    score: float
    sentence: str
    metadata: dict[str, str]
    title: str = ""  # the text of the first column, if the sentence is joined from several
    bm25: float | None = None
    maxsim: float | None = None
    cross_score: float | None = None
    cross_share: float | None = None  # the place of cross_score in the model's range, 0..1; None for logits, which have none
    matches: tuple[WordMatch, ...] = ()
    best: Span | None = None
    passage: Span | None = None
    row_name: str = ""  # where rows are not numbered by one file: "17 of b.csv"
    copies: int = 0
    copy_rows: tuple[int | str, ...] = ()
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
    """The collection that was searched. kind: of its index; recall: its share of the ten closest rows, measured on `queries` rows.

    filtered: whether only rows that fit filters were searched; how many these are is unknown.
    """

    name: str
    kind: str
    recall: float
    queries: int
    filtered: bool

    @property
    def index(self) -> str:
        """The index and how well it finds, in words."""
        measured = f", recall@10 {self.recall:.3f}, measured on {self.queries:,} rows" if self.queries else ""
        return f"{self.kind} index{measured}"


@dataclass(frozen=True)
class SearchResult:
    """Hits, best first, and milliseconds by stage. fitting: rows that fit the filters; searched: all rows of the corpus.

    store: set if a collection was searched; `fitting` is then the number of all its rows. cautions: sentences on rows that a filter
    could not read, and on a query in a language that the model does not read. read: how many rows the model has read, None for all.
    repeats: by the row of a hit, the other rows with its text, each with its metadata; of all hits at most MOST_REPEATS.
    """

    query: str
    hits: list[Hit]
    milliseconds: dict[str, float]
    model: str
    searched: int
    fitting: int
    ranking: str = DENSE  # one of RANKINGS
    cross_encoder: str = ""  # that ordered the hits
    weak: float = -1.0  # 19 of 20 pairs written to be related score higher under this model; -1: not measured
    store: Store | None = None
    cautions: tuple[str, ...] = ()
    read: int | None = None
    repeats: Mapping[int, list[tuple[int | str, dict[Any, Any]]]] = field(default_factory=dict)


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
