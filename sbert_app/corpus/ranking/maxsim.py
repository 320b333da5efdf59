"""MaxSim: each token of the query is matched with the token of a row that is most similar to it (Khattab & Zaharia 2020)."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.ranking.lexical import WORD, LexicalIndex, Span, sentence_spans
from sbert_app.vectors import Array, Integers, Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

COMPARED = 50  # the best rows of a hybrid ranking, which are compared with the query token by token
CACHE_BYTES = 32 * 1024**2  # of 384 dimensions: 85,000 tokens, the rows of a person's last twenty queries or more
Rounded = tuple[NDArray[np.int8], Vectors]  # (T, dim), and what one step of each token's numbers is, (T, 1)


@dataclass(frozen=True)
class TokenMatches:
    """Of k rows and q query tokens."""

    scores: Array  # weighted means of the similarities, (k,), -1..1; 0 for a row without tokens
    similarities: Vectors  # the cosine of each query token with its best token of the row, (k, q)
    tokens: Integers  # which one that is, (k, q), -1 for none


def match(query: Vectors, weights: NDArray[np.floating], rows: Sequence[Vectors]) -> TokenMatches:
    """Match the query's unit tokens, (q, dim), with those of each row, (t, dim). weights: (q,); if all are 0, all count alike."""
    similarities = np.zeros((len(rows), len(query)), dtype=np.float32)
    tokens = np.full((len(rows), len(query)), -1, dtype=np.int64)
    filled = [number for number, row in enumerate(rows) if len(row)]
    if filled and len(query):
        every = query @ np.concatenate([rows[number] for number in filled]).T  # (q, all tokens)
        ends = np.cumsum([len(rows[number]) for number in filled])
        for number, part in zip(filled, np.split(every, ends[:-1], axis=1), strict=True):
            tokens[number] = part.argmax(axis=1)
            similarities[number] = part[np.arange(len(query)), tokens[number]]
    shares = np.asarray(weights, dtype=np.float64) if np.any(weights) else np.ones(len(query))
    scores = similarities @ shares / max(float(shares.sum()), 1e-12)
    return TokenMatches(scores, similarities, tokens)


def extent(spans: Integers) -> Span:
    """From the first to the last character of several tokens, (t, 2)."""
    return int(spans[:, 0].min()), int(spans[:, 1].max())


class TokenCache:
    """The int8 token vectors of rows that were compared before, the least recently used dropped first."""

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self.nbytes = 0
        self._limit = limit_bytes
        self._rows: OrderedDict[int, Rounded] = OrderedDict()
        self._lock = threading.Lock()

    def vectors(self, rows: Sequence[int], compute: Callable[[list[int]], Sequence[Vectors]]) -> list[Vectors]:
        """The unit token vectors of each row, (T, dim), in order. compute: those of rows that are not kept."""
        with self._lock:
            known = {row: self._rows[row] for row in rows if row in self._rows}
            for row in known:
                self._rows.move_to_end(row)
        missing = [row for row in dict.fromkeys(rows) if row not in known]
        new = self.keep(missing, compute(missing)) if missing else {}
        vectors = known | new  # new ones are rounded too, so that a search gives the same twice
        return [numbers * step for numbers, step in (vectors[row] for row in rows)]

    def keep(self, rows: Sequence[int], vectors: Sequence[Vectors]) -> dict[int, Rounded]:
        """Keep the unit token vectors of different rows, (T, dim) each. Returns them rounded."""
        new = {row: _rounded(tokens) for row, tokens in zip(rows, vectors, strict=True)}
        with self._lock:
            for row in [row for row in new if row not in self._rows]:
                self._rows[row] = new[row]
                self.nbytes += sum(part.nbytes for part in new[row])
            while self.nbytes > self._limit:
                self.nbytes -= sum(part.nbytes for part in self._rows.popitem(last=False)[1])
        return new


def _rounded(vectors: Vectors) -> Rounded:
    step = np.maximum(np.abs(vectors).max(axis=1, keepdims=True, initial=0.0), 1e-12) / np.float32(127)
    return np.rint(vectors / step).astype(np.int8), step.astype(np.float32)


class QueryTokens:
    """A query's own tokens: vectors, words and weights, to be matched with those of rows."""

    def __init__(self, encoder: "Encoder", lexical: LexicalIndex, query: str) -> None:
        """lexical: the words of the rows, by which a word of the query is rare."""
        from sbert_app.models.tokens import own_token_vectors, places  # imports torch

        prompt = encoder.prompt("query")
        spans, self.word = places(encoder, query, prompt)
        self.texts = {word: query[slice(*extent(spans[self.word == word]))] for word in dict.fromkeys(self.word.tolist())}
        # How rare each token's word is, divided among its tokens, (T,); 0 for punctuation and stop words.
        parts = {number: WORD.findall(text.lower()) for number, text in self.texts.items()}
        rarity = {number: float(lexical.rarity(own).max()) if own else 0.0 for number, own in parts.items()}
        self.weights = np.array([rarity[number] / int((self.word == number).sum()) for number in self.word.tolist()])
        self._vectors = own_token_vectors(encoder, [query], prompt)[0]

    def match(self, rows: Sequence[Vectors]) -> TokenMatches:
        """Match with the token vectors of each row, (T, width)."""
        return match(self._vectors, self.weights, rows)


@dataclass(frozen=True)
class WordMatch:
    """A word of the query and the word of a hit that its tokens are most similar to."""

    query_word: str
    word: str
    start: int  # first character of that word in the hit's sentence
    end: int  # its last character + 1
    similarity: float  # cosine of the token vectors; times the weight, summed over the query, it is the MaxSim score
    weight: float  # the query word's share, 0..1, by how rare it is in the corpus


@dataclass(frozen=True)
class Part:
    """What is compared of a row: a text of it."""

    row: int
    key: int  # under which its vectors are kept
    start: int  # the character at which the text begins
    text: str


class TokenComparison:
    """A query compared with parts of rows, token by token. The caller holds the device."""

    def __init__(self, encoder: "Encoder", query: str, parts: Sequence[Part], lexical: LexicalIndex, kept: TokenCache) -> None:
        from sbert_app.models.tokens import own_token_vectors, places  # imports torch

        prompt, texts = encoder.document_prompt, {part.key: part.text for part in parts}
        self._places = lambda text: places(encoder, text, prompt)
        self._parts = {part.row: (number, part) for number, part in enumerate(parts)}
        self._query = QueryTokens(encoder, lexical, query)
        vectors = kept.vectors(list(texts), lambda new: own_token_vectors(encoder, [texts[key] for key in new], prompt))
        self.matches: TokenMatches = self._query.match(vectors)

    def words(self, row: int) -> tuple[WordMatch, ...]:
        """Which words met, the heaviest first; a query word without weight is left out."""
        number, part = self._parts[row]
        spans, words = self._places(part.text)
        total = float(self._query.weights.sum()) or 1.0
        matches = []
        for word, query_word in self._query.texts.items():
            pieces = np.flatnonzero(self._query.word == word)
            weight = float(self._query.weights[pieces].sum()) / total
            best = pieces[int(self.matches.similarities[number, pieces].argmax())]
            token = int(self.matches.tokens[number, best])
            if weight > 0 and token >= 0:
                start, end = extent(spans[words == words[token]])
                similarity = float(self.matches.similarities[number, pieces].mean())
                own = part.text[start:end], part.start + start, part.start + end
                matches.append(WordMatch(query_word, *own, similarity, weight))
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
