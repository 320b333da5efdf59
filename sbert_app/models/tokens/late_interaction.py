"""The token vectors that MaxSim compares: of a sentence's own tokens, without special tokens and the prompt, of length 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.ranking.lexical import LexicalIndex
from sbert_app.corpus.ranking.maxsim import TokenMatches, match, token_weights, words_at
from sbert_app.models.encoder import Encoder
from sbert_app.vectors import Vectors, unit_rows


@dataclass(frozen=True)
class Places:
    """Where the T own tokens of a sentence are: the first and last character + 1 of each, (T, 2), and the number of its word, (T,).

    In scripts without spaces the tokeniser's own words are meant, in others what is between spaces and punctuation.
    """

    spans: NDArray[np.int64]
    words: NDArray[np.int64]


class QueryTokens:
    """A query's own tokens: vectors, words and weights, to be matched with those of rows."""

    def __init__(self, encoder: Encoder, lexical: LexicalIndex, query: str) -> None:
        """lexical: the words of the rows, by which a word of the query is rare."""
        prompt = encoder.prompt("query")
        tokens = places(encoder, query, prompt)
        self.word = tokens.words
        self.texts = words_at(query, tokens.words, tokens.spans)
        self.weights = token_weights(lexical, self.texts, tokens.words)
        self._vectors = own_token_vectors(encoder, [query], prompt)[0]

    def match(self, rows: Sequence[Vectors]) -> TokenMatches:
        """Match with the token vectors of each row, (T, width)."""
        return match(self._vectors, self.weights, rows)


def own_token_vectors(encoder: Encoder, sentences: Sequence[str], prompt: str = "") -> list[Vectors]:
    """The unit vectors of each sentence's own tokens, (T, width) float32; (0, width) for a sentence without any."""
    encodings = encoder.encodings(sentences, prompt)
    own = [own_tokens(encoding, len(prompt)) for encoding in encodings]
    batches = encoder.hidden([encoding.ids for encoding in encodings])
    vectors = {row: tokens for rows, hidden in batches for row, tokens in zip(rows.tolist(), hidden, strict=True)}
    return [unit_rows(vectors[i][own[i]]) for i in range(len(sentences))]


def places(encoder: Encoder, sentence: str, prompt: str = "") -> Places:
    """Where a sentence's own tokens are, in the order of their vectors."""
    encoding = encoder.encodings([sentence], prompt)[0]
    own = own_tokens(encoding, len(prompt))
    spans = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)[own] - len(prompt)
    return Places(np.clip(spans, 0, len(sentence)), np.array([encoding.word_ids[i] for i in own.tolist()], dtype=np.int64))


def characters_read(encoder: Encoder, sentence: str, prompt: str = "") -> int:
    """How many characters of a sentence the model reads; what is behind them is cut."""
    encoding = encoder.encodings([sentence], prompt)[0]
    if not encoding.overflowing:
        return len(sentence)
    return max(0, *(int(end) - len(prompt) for _, end in encoding.offsets))


def is_one_piece(encoder: Encoder, word: str) -> bool:
    """Whether the model's vocabulary holds the word as a whole, as it does frequent words."""
    return len(own_tokens(encoder.encodings([word])[0], 0)) == 1


def own_tokens(encoding: Any, prompt: int) -> NDArray[np.int64]:
    """Positions of the tokens that are neither special nor of the prompt, which takes so many characters."""
    special = np.array(encoding.special_tokens_mask, dtype=bool)
    ends = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)[:, 1]
    return np.flatnonzero(~special & (ends > prompt))
