"""A corpus ready for search: sentences, unit embeddings, vector and word index; and the ranking over them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sbert_app.corpus.filters import matching_rows
from sbert_app.corpus.growing import CANDIDATES, Growing
from sbert_app.corpus.passages import COST, Passages
from sbert_app.corpus.ranking.fusion import Scores, best_first, best_rows, hybrid
from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.corpus.ranking.maxsim import Part, TokenCache, TokenComparison
from sbert_app.corpus.reader import Corpus, free_names
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.explain.scale import Calibration
from sbert_app.vectors import Mask, Rows, Vectors, unit_rows
from sbert_app.wording import amount

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

DENSE, WORDS, HYBRID = "dense", "words", "hybrid"  # ways to rank: by cosine, by BM25, by the sum of the z-scores of both
FUSION, BM25, READING = "BM25 and fusion", "BM25", "reading rows"  # stages
CALIBRATING = 100  # different texts, at least, whose random pairs show which scores are usual
FUSED_DEPTH = 100  # rows that hybrid search takes from each ranking


@dataclass(frozen=True)
class Ranking:
    """k rows, best first, of a corpus of n."""

    rows: Rows  # (k,)
    scores: Vectors  # their cosines, (k,)
    passages: Rows  # the number of the passage that each row's cosine is of, (k,), -1 for the row's own embedding
    milliseconds: dict[str, float]  # by stage
    fitting: int  # the number of rows that fit the filters
    words: Vectors | None = None  # their BM25 scores, (k,), None for the dense way
    fused: Scores | None = None  # what hybrid search ranks by, (k,), None for other ways
    coverage: float = 0.0  # how much of the query the words of one row cover, 0..1
    notes: tuple[str, ...] = ()  # which rows could not be read for a filter
    mask: Mask | None = None  # which rows of the corpus fit the filters, (n,), None for all

    def taking(self, order: Rows) -> "Ranking":
        """These places of the ranking, in this order."""
        names = ("rows", "scores", "passages", "words", "fused")
        return replace(self, **{name: value[order] for name in names if (value := getattr(self, name)) is not None})


@dataclass(frozen=True)
class IndexedCorpus:
    """A corpus and its indexes, by the model with this name and fingerprint."""

    corpus: Corpus
    model: str
    fingerprint: str
    embeddings: Vectors  # unit rows, (n, dim); of a sentence longer than the model reads of its beginning
    index: VectorIndex
    lexical: LexicalIndex
    truncated: int = 0  # the number of such sentences
    saved_id: str = ""  # in the library, "" if it is not saved
    passages: Passages | None = None  # parts of such sentences, with embeddings of their own
    among: Mask | None = None  # which rows are searched, (n,), None for all
    growing: Growing | None = None  # of a corpus that the model has not read whole; its index is empty

    @classmethod
    def build(
        cls, corpus: Corpus, model: str, fingerprint: str, embeddings: Vectors, lexical: LexicalIndex | None = None
    ) -> "IndexedCorpus":
        """Build the indexes, that of words unless it is there. embeddings: (n, dim), rows of any length."""
        unit = unit_rows(embeddings)
        return cls(corpus, model, fingerprint, unit, VectorIndex.build(unit), lexical or LexicalIndex.build(corpus.sentences))

    def fill(self, rows: Rows) -> None:
        """Have the embeddings of these rows."""
        if self.growing:
            self.growing.fill(rows)

    @property
    def key(self) -> str:
        """What opens this corpus again: its id in the library, or the name of the example; "" if only the session holds it."""
        return self.saved_id or (self.corpus.name if self.corpus.first_query else "")

    @property
    def lacks_passages(self) -> bool:
        """Whether only the beginning of long texts is read: so far, or by an earlier version, which indexed it."""
        return self.truncated > 0 and self.passages is None

    @property
    def long_texts(self) -> str:
        """How many texts are longer than the model reads, in words; "" if none is."""
        return f"{amount(self.truncated, 'text is', 'texts are')} longer than {self.model} reads" if self.truncated else ""

    @property
    def unread(self) -> tuple[str, ...]:
        """A sentence on long texts that search does not read to their end, else nothing."""
        if not self.lacks_passages:
            return ()
        rest = " until the whole file is read." if self.growing else ". Index the file again to search the rest too."
        return (f"{self.long_texts}: of such a text only the beginning is compared by meaning{rest}",)

    @cached_property
    def tokens(self) -> TokenCache:
        """The token vectors of rows that were compared before."""
        return self.growing.tokens if self.growing else TokenCache()

    @cached_property
    def calibration(self) -> Calibration | None:
        """The scores of random pairs of these sentences; None for fewer than CALIBRATING texts, and before all are read."""
        if self.growing or len(set(self.corpus.sentences)) < CALIBRATING:
            return None
        return Calibration.from_embeddings(self.corpus.name, self.embeddings)

    def cosines(self, query: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
        """The cosine of each row with a unit query, (dim,), and the number of the passage it is of, -1 for its own embedding."""
        closeness, passages = self.closeness(query, rows)
        return closeness + (COST * (passages >= 0)).astype(np.float32), passages

    def closeness(self, query: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
        """What each row is ranked by: its cosine, of a passage COST less; and the number of the passage, as `cosines` gives it."""
        beginning = self.embeddings[rows] @ query
        if self.passages is None:
            return beginning, np.full(len(rows), -1, dtype=np.int64)
        scores, passages = self.passages.best(query, rows)
        scores = scores - np.float32(COST)
        further = scores > beginning
        return np.where(further, scores, beginning), np.where(further, passages, -1)

    def compared(self, encoder: "Encoder", query: str, rows: Sequence[int], passages: Sequence[int]) -> TokenComparison:
        """Compare a query with rows token by token, around the passage of each; of -1 with the row as it is read."""
        parts = []
        for row, number in zip(rows, passages, strict=True):
            text = self.corpus.sentences[row]
            start, end = self.passages.around(number) if self.passages and number >= 0 else (0, len(text))
            parts.append(Part(row, row if number < 0 else len(self.corpus) + number, start, text[start:end]))
        return TokenComparison(encoder, query, parts, self.lexical, self.tokens)

    def write_embeddings(self, path: Path) -> None:
        """Write the unit embeddings to a file: .npy for numpy.load, or .parquet with the row's number, sentence and metadata."""
        if path.suffix == ".npy":
            np.save(path, self.embeddings)
            return
        import pyarrow.parquet

        frame = self.corpus.filterable()
        frame.columns = pd.Index(free_names(frame.columns, ["row", "embedding"]))
        table = pyarrow.Table.from_pandas(frame.astype(str), preserve_index=False)
        vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(np.ravel(self.embeddings)), self.embeddings.shape[1])
        table = table.add_column(0, "row", pyarrow.array(self.corpus.rows)).append_column("embedding", vectors)
        pyarrow.parquet.write_table(table, path)

    def fitting(self, filters: Mapping[str, Any]) -> tuple[Mask | None, tuple[str, ...]]:
        """Which rows are searched under filters, (n,), None for all; and sentences on those that a filter could not read."""
        if not filters:
            return self.among, ()
        mask, notes = matching_rows(self.corpus.filterable(), filters)
        return mask if self.among is None else self.among & mask, notes

    def rank(
        self, query: Vectors, text: str, top: int, filters: Mapping[str, Any], way: str = DENSE, most: int = CANDIDATES
    ) -> Ranking:
        """The `top` rows for a unit query vector, (dim,), and its text, best first; `way`: DENSE, WORDS or HYBRID.

        most: how many rows the model reads for it, where it has not read them.
        """
        milliseconds: dict[str, float] = {}
        with _timed("filter", milliseconds) if filters else nullcontext():
            mask, notes = self.fitting(filters)
        fitting = len(self.corpus) if mask is None else int(mask.sum())
        words, fused, coverage, ranked = None, None, 0.0, mask
        if way != WORDS:
            if self.growing:
                with _timed(READING, milliseconds):
                    ranked = self.growing.ranked(query, text, mask, most)
            with _timed("search", milliseconds):
                rows = self._closest(query, top if way == DENSE else max(top, FUSED_DEPTH), ranked)
        if way != DENSE:
            with _timed(BM25 if way == WORDS else FUSION, milliseconds):
                words = self.lexical.scores(text)
                counted = words if ranked is None else words * ranked
                if way == WORDS:
                    rows = best_rows(counted, top)
                    self.fill(rows)
                else:
                    coverage = self.lexical.coverage(text, counted)
                    rows, fused = hybrid(rows, lambda rows: self.closeness(query, rows)[0], counted, coverage)
                    rows, fused = rows[:top], fused[:top]
        own_words = None if words is None else words[rows]
        return Ranking(rows, *self.cosines(query, rows), milliseconds, fitting, own_words, fused, coverage, notes, mask)

    def _closest(self, query: Vectors, top: int, mask: Mask | None) -> Rows:
        if mask is None and top < len(self.corpus):
            (scores,), (rows,) = self.index.search(query[None], top)
            own: Rows = rows[rows >= 0]
            if self.passages is None:
                return own
            # A row among the best is so by its beginning, or by a passage that is not below the last of these.
            least = float(scores[-1]) if len(rows) >= top else -np.inf
            remaining = np.union1d(own, self.passages.closest_rows(query, top, least))
        else:
            # An index would miss rows that a narrow filter leaves: compare the remaining rows exactly; so if all are wanted.
            remaining = np.arange(len(self.corpus)) if mask is None else np.flatnonzero(mask)
        return remaining[best_first(self.closeness(query, remaining)[0])[:top]]


@contextmanager
def _timed(stage: str, milliseconds: dict[str, float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    milliseconds[stage] = (time.perf_counter() - start) * 1e3
