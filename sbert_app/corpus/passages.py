"""Passages: the parts of texts that are longer than a model reads, cut, then searched by vectors of their own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.ranking.lexical import Span
from sbert_app.corpus.vector_index import VectorIndex
from sbert_app.vectors import Integers, Rows, Vectors, unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

# Taken off a passage's cosine to rank it: the best of many short passages is high by chance. By SciFact's train claims, where 0.06
# and 0.1 are alike (nDCG@10 66.2 and 65.9; without it 63.2, by the beginning alone 63.9).
COST = 0.08
BEFORE, AFTER = 2, 3  # neighbours of a passage: with it about 200 tokens, which models read at once
AT_ONCE = 4_000_000  # characters tokenised between two looks at the stop button: a second or two
DEEPER = 4  # times as many passages are read next, if those read belong to too few rows


@dataclass(frozen=True)
class Passages:
    """The m passages of the rows that are longer than the model reads, in the order of the rows."""

    rows: Rows  # the row of each, (m,), ascending
    spans: Integers  # its first character and last + 1 in the row's text, (m, 2)
    embeddings: Vectors  # unit rows, (m, dim)
    index: VectorIndex  # apart from that of the rows, which the map and duplicates read

    @classmethod
    def build(cls, rows: Sequence[int], spans: Sequence[Span], embeddings: Vectors) -> "Passages":
        """Index m >= 1 passages. embeddings: (m, dim), rows of any length."""
        unit = unit_rows(embeddings)
        return cls(np.array(rows, dtype=np.int64), np.array(spans, dtype=np.int64), unit, VectorIndex.build(unit))

    def __len__(self) -> int:
        return len(self.rows)

    def span(self, number: int) -> Span:
        """The characters of a passage in the text of its row."""
        return int(self.spans[number, 0]), int(self.spans[number, 1])

    def at(self, row: int, start: int) -> int | None:
        """The number of the passage of a row that begins at this character, None if there is none."""
        numbers = np.flatnonzero((self.rows == row) & (self.spans[:, 0] == start))
        return int(numbers[0]) if len(numbers) else None

    def around(self, number: int) -> Span:
        """The characters of a passage with its neighbours in the same row: what is compared token by token, in its context."""
        first, last = (int(np.searchsorted(self.rows, self.rows[number], side=side)) for side in ("left", "right"))
        return int(self.spans[max(first, number - BEFORE), 0]), int(self.spans[min(last - 1, number + AFTER), 1])

    def best(self, query: Vectors, rows: Rows) -> tuple[Vectors, Rows]:
        """The best passage of each row for a unit query, (dim,): cosine and number, (k,); -inf and -1 for a row without any."""
        first, last = (np.searchsorted(self.rows, rows, side=side) for side in ("left", "right"))
        counts = last - first
        place = np.repeat(np.arange(len(rows)), counts)  # of each passage's row among `rows`
        numbers = np.arange(len(place)) - np.repeat(np.cumsum(counts) - counts - first, counts)
        cosines = self.embeddings[numbers] @ query
        order = np.lexsort((-cosines, place))
        places, leading = np.unique(place[order], return_index=True)
        scores, best = np.full(len(rows), -np.inf, dtype=np.float32), np.full(len(rows), -1, dtype=np.int64)
        scores[places], best[places] = cosines[order[leading]], numbers[order[leading]]
        return scores, best

    def closest_rows(self, query: Vectors, top: int, least: float) -> Rows:
        """The rows of the closest passages, each once, in any order: fewer than `top` only if no other passage scores `least`."""
        depth = 2 * top
        while True:
            scores, numbers = self.index.search(query[None], depth)
            rows = np.unique(self.rows[numbers[0][numbers[0] >= 0]])
            if len(rows) >= top or depth >= len(self) or scores[0][-1] < least:
                return rows
            depth *= DEEPER

    def save(self, folder: Path) -> None:
        """Write the passages into a new folder."""
        folder.mkdir()
        for name in ("rows", "spans", "embeddings"):
            np.save(folder / f"{name}.npy", getattr(self, name))
        self.index.save(folder)

    @classmethod
    def load(cls, folder: Path) -> "Passages":
        """Load what `save` wrote. Raises ValueError if its files do not fit together."""
        rows, spans = np.load(folder / "rows.npy"), np.load(folder / "spans.npy")
        embeddings = np.load(folder / "embeddings.npy", mmap_mode="r")
        index = VectorIndex.load(folder, embeddings)
        if not len(rows) == len(spans) == len(embeddings) == index.report.rows:
            raise ValueError("its files differ in their number of passages")
        return cls(rows, spans, embeddings, index)


class LongTexts:
    """`cut` finds the passages; then `texts` are to be encoded. rows: the row of each passage; spans: its characters."""

    def __init__(self, encoder: "Encoder", sentences: Sequence[str]) -> None:
        self._encoder, self._sentences = encoder, sentences
        self.rows: list[int] = []
        self.spans: list[Span] = []

    @property
    def count(self) -> int:
        """The number of texts that are longer than the model reads."""
        return len(set(self.rows))

    @property
    def texts(self) -> list[str]:
        return [self._sentences[row][slice(*span)] for row, span in zip(self.rows, self.spans, strict=True)]

    def cut(self) -> Iterator[int]:
        """Cut the texts in their order; yield after each part how many were read."""
        from sbert_app.models.tokens import passage_spans  # imports torch

        first = characters = 0
        for last, sentence in enumerate(self._sentences, 1):
            characters += len(sentence)
            if characters < AT_ONCE and last < len(self._sentences):
                continue
            for number, spans in passage_spans(self._encoder, self._sentences[first:last]).items():
                self.rows += [first + number] * len(spans)
                self.spans += spans
            yield last
            first, characters = last, 0

    def passages(self, embeddings: Vectors) -> Passages | None:
        """The passages with their embeddings, (m, dim); None if no text is too long."""
        return Passages.build(self.rows, self.spans, embeddings) if self.rows else None
