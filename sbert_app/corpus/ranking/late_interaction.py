"""Re-rank hits by MaxSim with the corpus's own encoder, and tell which of their words met which words of the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus.passages import Span, sentence_spans
from sbert_app.corpus.ranking.maxsim import TokenMatches, extent

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder


@dataclass(frozen=True)
class WordMatch:
    """A word of the query and the word of a hit that its tokens are most similar to.

    start, end: characters of that word in the hit's sentence. similarity: cosine of the token vectors. weight: the query
    word's share, 0..1, by how rare it is in the corpus; weight times similarity, summed over the query, is the MaxSim score.
    """

    query_word: str
    word: str
    start: int
    end: int
    similarity: float
    weight: float


class TokenComparison:
    """A query compared with rows of a corpus, token by token, each around its best passage. The caller holds the device."""

    def __init__(
        self, encoder: "Encoder", indexed: IndexedCorpus, query: str, rows: Sequence[int], passages: Sequence[int] = ()
    ) -> None:
        """passages: the number of each row's best passage, -1 for the row as the model reads it; none: so for all."""
        from sbert_app.models.tokens import QueryTokens, own_token_vectors, places  # imports torch

        of_rows = encoder.document_prompt
        self._places = lambda text: places(encoder, text, of_rows)
        self._rows, numbers = list(rows), list(passages) or [-1] * len(rows)
        sentences = [indexed.corpus.sentences[row] for row in rows]
        spans = [indexed.context(number) or (0, len(text)) for number, text in zip(numbers, sentences, strict=True)]
        self._texts = [text[start:end] for text, (start, end) in zip(sentences, spans, strict=True)]
        self._starts = [start for start, _ in spans]
        keys = [row if number < 0 else len(indexed.corpus) + number for row, number in zip(rows, numbers, strict=True)]
        texts = dict(zip(keys, self._texts, strict=True))
        known = indexed.tokens.vectors(keys, lambda missing: own_token_vectors(encoder, [texts[key] for key in missing], of_rows))
        self._query = QueryTokens(encoder, indexed.lexical, query)
        self.matches: TokenMatches = self._query.match(known)

    def words(self, row: int) -> tuple[WordMatch, ...]:
        """Which words met, the heaviest first; a query word without weight is left out."""
        number = self._rows.index(row)
        text, begin = self._texts[number], self._starts[number]
        places = self._places(text)
        total = float(self._query.weights.sum()) or 1.0
        matches = []
        for word, query_word in self._query.texts.items():
            pieces = np.flatnonzero(self._query.word == word)
            weight = float(self._query.weights[pieces].sum()) / total
            best = pieces[int(self.matches.similarities[number, pieces].argmax())]
            token = int(self.matches.tokens[number, best])
            if weight > 0 and token >= 0:
                start, end = _span_of_word(places.words, places.spans, token)
                similarity = float(self.matches.similarities[number, pieces].mean())
                matches.append(WordMatch(query_word, text[start:end], begin + start, begin + end, similarity, weight))
        return tuple(sorted(matches, key=lambda entry: -entry.weight * entry.similarity))


def best_sentence(text: str, matches: Sequence[WordMatch], part: Span | None = None) -> Span:
    """The sentence of a text, or of a part of it, that holds most of what met; all of it if it is one sentence."""
    begin, end = part or (0, len(text))
    spans = [(begin + first, begin + last) for first, last in sentence_spans(text[begin:end])]
    if len(spans) < 2 or not matches:
        return begin, end

    def share(span: Span) -> float:
        return sum(entry.weight * entry.similarity for entry in matches if span[0] <= entry.start < span[1])

    return max(spans, key=share)


def _span_of_word(words: NDArray[np.int64], spans: NDArray[np.int64], token: int) -> Span:
    return extent(spans[words == words[token]])
