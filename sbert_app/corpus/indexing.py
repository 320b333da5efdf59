"""Index a corpus: the texts that are longer than the model reads, cut into passages; what a session keeps of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.passages import Passages
from sbert_app.corpus.ranking.lexical import Span
from sbert_app.corpus.reader import Corpus
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

AT_ONCE = 4_000_000  # characters tokenised between two looks at the stop button: a second or two


@dataclass(frozen=True)
class EncodedSoFar:
    """What a running indexing has encoded: embeddings (n, dim), of the rows that `done`, (n,), names. Both change meanwhile."""

    corpus: Corpus
    model: str
    fingerprint: str
    embeddings: Vectors
    done: NDArray[np.bool_]
    passages: ClassVar[None] = None
    of_corpus: ClassVar[bool] = True


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
        """The text of each passage."""
        return [self._sentences[row][slice(*span)] for row, span in zip(self.rows, self.spans, strict=True)]

    def cut(self) -> Iterator[int]:
        """Cut the texts in their order; yield after each part how many were read."""
        from sbert_app.models.tokens import passage_spans  # imports torch

        for first, last in self._parts():
            for number, spans in passage_spans(self._encoder, self._sentences[first:last]).items():
                self.rows += [first + number] * len(spans)
                self.spans += spans
            yield last

    def passages(self, embeddings: Vectors) -> Passages | None:
        """The passages with their embeddings, (m, dim); None if no text is too long."""
        return Passages.build(self.rows, self.spans, embeddings) if self.rows else None

    def _parts(self) -> Iterator[tuple[int, int]]:
        """First sentence and last + 1 of parts of at most about AT_ONCE characters."""
        first = characters = 0
        for number, sentence in enumerate(self._sentences, 1):
            characters += len(sentence)
            if characters >= AT_ONCE:
                yield first, number
                first, characters = number, 0
        if first < len(self._sentences):
            yield first, len(self._sentences)
