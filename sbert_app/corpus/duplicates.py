"""Find duplicates in a corpus: merge exact copies, mine close pairs once, group at any threshold.

Rows with the same text form one node; pairs are mined between nodes. Exact copies always belong to the group of their node,
with score 1. The list of pairs holds each copy once, paired with the first row of its text, and each close pair once, between
the first rows: m copies are m - 1 pairs, not m(m-1)/2.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sbert_app.corpus.groups import Grouping, Neighbourhoods
from sbert_app.corpus.mining import SimilarPairs, mine
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.explain.cautions import IN_SHORT, NUMBERS, in_short
from sbert_app.explain.quantities import quantities
from sbert_app.step import Step
from sbert_app.vectors import Mask, Rows, Vectors, distinct

# Rows to remove: exact copies only; similar rows too, but not those with another number or a denial; all similar rows.
COPIES, UNMARKED, SIMILAR = REMOVALS = ("copies", "unmarked", "similar")


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows, rows1[i] < rows2[i], with their cosines, (m,) each."""

    rows1: Rows
    rows2: Rows
    scores: Vectors


@dataclass(frozen=True)
class Verdicts:
    """What becomes of each of n rows, (n,) each."""

    keep: Mask
    group: Rows  # from 1, 0 for none
    representative: Rows  # of a row that goes, the row that stays in its place
    score: Vectors  # to the representative

    def unlike(self, texts: Sequence[str]) -> dict[int, str]:
        """Of rows that go, what the score does not tell, such as a number that the row that stays in their place has not."""
        pairs = [(row, texts[row], texts[self.representative[row]]) for row in np.flatnonzero(~self.keep).tolist()]
        return {row: what for row, text, other in pairs if text != other and (what := mark(other, text))}


def mark(kept: str, text: str) -> str:
    """What the score of a text to one that is kept does not tell, "" for nothing; a number of its own in digits, too."""
    if (what := in_short(kept, text)) or not any(map(str.isdigit, text)):
        return what
    others, numbers = ({(each.kind, each.value) for each in quantities(sentence)} for sentence in (kept, text))
    return IN_SHORT[NUMBERS] if numbers - others else ""


@dataclass(frozen=True)
class Copies:
    """Rows grouped by text: the node of each row, (n,), and the first row of each node, (k,), ascending."""

    node: Rows
    first: Rows

    @classmethod
    def of(cls, sentences: Sequence[str]) -> "Copies":
        _, node = distinct(sentences)
        return cls(node, np.unique(node, return_index=True)[1])

    @property
    def repeated(self) -> Rows:
        """The rows whose text already occurs in an earlier row, ascending."""
        return np.flatnonzero(self.first[self.node] != np.arange(len(self.node)))

    @cached_property
    def counts(self) -> Rows:
        """The number of rows of each node, (k,)."""
        return np.bincount(self.node, minlength=len(self.first))


@dataclass(frozen=True)
class Duplicates:
    """The close pairs among n rows, from which groups follow at any threshold from `pairs.floor` upward."""

    copies: Copies
    pairs: SimilarPairs  # of nodes

    @cached_property
    def _neighbourhoods(self) -> Neighbourhoods:
        return Neighbourhoods(self.pairs, self.copies.counts)

    def grouping(self, threshold: float) -> Grouping:
        """Group the rows at this cosine. The centre of a group is the first row of its text and the one to keep."""
        nodes = self._neighbourhoods.groups(threshold)
        counts = self.copies.counts[nodes.rows]
        ends = counts.cumsum()
        offsets = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)  # within the node
        starts = self.copies.counts.cumsum() - self.copies.counts
        by_node = np.argsort(self.copies.node, kind="stable")  # ascending within a node
        rows = by_node[np.repeat(starts[nodes.rows], counts) + offsets]
        return Grouping(rows, np.repeat(nodes.scores, counts), np.concatenate([[0], ends])[nodes.starts])

    def verdicts(
        self, grouping: Grouping, remove: str = SIMILAR, always: Collection[int] = (), texts: Sequence[str] = ()
    ) -> Verdicts:
        """Decide for every row whether to keep it: of each group the centre, or of each text the first row. `always` stays."""
        n = len(self.copies.node)
        keep, group, score = np.ones(n, dtype=bool), np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.float32)
        representative = np.arange(n)
        keep[grouping.rows] = False
        keep[grouping.centres] = True
        group[grouping.rows] = np.repeat(np.arange(1, len(grouping) + 1), grouping.sizes)
        representative[grouping.rows] = np.repeat(grouping.centres, grouping.sizes)
        score[grouping.rows] = grouping.scores
        if remove == COPIES:
            repeated = self.copies.repeated
            keep[:] = True
            keep[repeated] = False
            representative[repeated] = self.copies.first[self.copies.node[repeated]]
            score[repeated] = 1
        keep[list(always)] = True
        verdicts = Verdicts(keep, group, representative, score)
        if remove == UNMARKED:
            marked = np.array([*verdicts.unlike(texts)], dtype=np.int64)
            representative[marked], score[marked] = self.copies.first[self.copies.node[marked]], 1
            keep[marked] = representative[marked] == marked
        return verdicts

    def best_pairs(self, threshold: float, most: int | None = None) -> Pairs:
        """The pairs that reach the threshold, best first: exact copies, then close pairs; at most `most`."""
        repeated = self.copies.repeated[:most]
        close = self._close(slice(0, min(self.pairs.above(threshold), len(self.pairs.scores) if most is None else most)))
        rows1 = np.concatenate([self.copies.first[self.copies.node[repeated]], close.rows1])
        scores = np.concatenate([np.ones(len(repeated), np.float32), close.scores])
        return Pairs(rows1[:most], np.concatenate([repeated, close.rows2])[:most], scores[:most])

    def borderline(self, threshold: float, most: int) -> Pairs:
        """The `most` pairs nearest to the threshold, above and below, nearest first: the ones to check."""
        border = self.pairs.above(threshold)
        window = self._close(slice(max(0, border - most), border + most))
        order = np.argsort(np.abs(window.scores - np.float32(threshold)), kind="stable")[:most]
        return Pairs(window.rows1[order], window.rows2[order], window.scores[order])

    def _close(self, part: slice) -> Pairs:
        first = self.copies.first
        return Pairs(first[self.pairs.rows1[part]], first[self.pairs.rows2[part]], self.pairs.scores[part])


@dataclass(frozen=True)
class SentencePair:
    """Two sentences, their rows and their cosine."""

    row1: int | str  # in the file, counted from 1; of several files a name, such as "17 of b.csv"
    row2: int | str
    score: float
    sentence1: str
    sentence2: str
    cross_score: float | None = None  # until it is computed

    @property
    def caution(self) -> str:
        """What the cosine does not tell, such as another number, in a few words; "" for nothing."""
        return in_short(self.sentence1, self.sentence2)


@dataclass(frozen=True)
class Member:
    """One row of a group, numbered as in the file."""

    row: int
    score: float  # cosine to the centre, 1 for the centre
    sentence: str
    keep: bool
    copy_of: int | None  # the first row with the same text, None if this is the first
    name: int | str = ""  # as it is written, as is the next
    name_of_copied: int | str = ""
    values: Mapping[str, str] = field(default_factory=dict)  # in the columns in which the rows of its group differ


@dataclass(frozen=True)
class Group:
    """The rows of a group, the centre first."""

    members: list[Member]
    whole: bool  # the visitor keeps all of them


@dataclass(frozen=True)
class Joined:
    """How the rows of a collection were compared."""

    compared: int  # of its `total` rows
    total: int
    neighbours: int  # the nearest of all rows, with which each was compared
    index: str  # that gave these, in words

    @property
    def is_sampled(self) -> bool:
        return self.compared < self.total


def find_duplicates(sentences: Sequence[str], embeddings: Vectors, index: VectorIndex | None = None) -> Iterator[Step[Duplicates]]:
    """Mine n sentences by unit embeddings, (n, dim) float32, or, if many, by their `index`. The last step has the result."""
    copies = Copies.of(sentences)
    has_copies = len(copies.first) < len(sentences)  # an index over all rows would return copies as each other's neighbours
    for step in mine(embeddings[copies.first], None if has_copies else index):
        yield Step(step.stage, step.done, step.total, result=Duplicates(copies, step.result) if step.result else None)
