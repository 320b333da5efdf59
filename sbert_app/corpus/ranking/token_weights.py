"""How much each token of a query counts in MaxSim: how rare its word is in the corpus."""

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.ranking.lexical import WORD, LexicalIndex

Span = tuple[int, int]  # first character, last character + 1


def words_at(text: str, words: NDArray[np.int64], spans: NDArray[np.int64]) -> dict[int, str]:
    """Number of a word -> its characters. words: the word's number of each token, (T,); spans: the token's characters, (T, 2)."""
    return {word: text[slice(*extent(spans[words == word]))] for word in dict.fromkeys(words.tolist())}


def extent(spans: NDArray[np.int64]) -> Span:
    """From the first to the last character of several tokens, (t, 2)."""
    return int(spans[:, 0].min()), int(spans[:, 1].max())


def token_weights(lexical: LexicalIndex, texts: dict[int, str], words: NDArray[np.int64]) -> NDArray[np.float64]:
    """How rare each token's word is, divided among its tokens, (T,); 0 for punctuation and stop words.

    texts: as `words_at` gives them. words: the word's number of each token, (T,).
    """
    rarity = {}
    for number, text in texts.items():
        parts = WORD.findall(text.lower())
        rarity[number] = float(lexical.rarity(parts).max()) if parts else 0.0
    return np.array([rarity[number] / int((words == number).sum()) for number in words.tolist()])
