"""Score pairs with a poly-encoder: each sentence goes through the transformer once, however many pairs it is in."""

from collections.abc import Iterator, Sequence

import numpy as np

from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.engine.batching import Rows, distinct
from sbert_app.models.files.folders import POLY
from sbert_app.models.files.trained_for import COSINE, UNKNOWN, Bounds, purpose
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.models.words.untrained import NEW_POLY
from sbert_app.vectors import Vectors, in_order

MOST_SENTENCES = 8_192  # in memory at a time: about 200 MB with 16 codes of 384 numbers
PAIRS_AT_ONCE = 1_024


class PolyScorer:
    """A poly-encoder in the place of a cross-encoder. A score is a mean of two cosines, -1..1, higher is closer."""

    kind = POLY
    labels = 1
    label_names: Sequence[str] = ()
    bounds: Bounds | None = COSINE

    def __init__(self, encoder: PolyEncoder) -> None:
        self.name = encoder.name
        self.fingerprint = encoder.fingerprint
        folder = None if encoder.name == NEW_POLY else encoder.folder
        self.trained_for = purpose(folder, encoder.name, POLY) if folder else UNKNOWN
        self._encoder = encoder

    def score(self, pairs: Sequence[Pair]) -> Vectors:
        """Score pairs in their order. n pairs -> (n,) float32."""
        return in_order(self.stream(pairs), len(pairs), 1)[:, 0]

    def stream(self, pairs: Sequence[Pair]) -> Iterator[tuple[Rows, Vectors]]:
        """Yield (row numbers, scores (b, 1)); after a batch of sentences, b is 0. Close the iterator to stop."""
        for start, end in windows(pairs, MOST_SENTENCES):
            texts, inverse = distinct([text for pair in pairs[start:end] for text in pair])
            vectors = np.empty((len(texts), self._encoder.dim), dtype=np.float32)
            for rows, batch in self._encoder.stream(texts):
                vectors[rows] = batch
                yield np.empty(0, dtype=np.int64), np.empty((0, 1), dtype=np.float32)
            first, second = inverse.reshape(-1, 2).T
            for i in range(0, end - start, PAIRS_AT_ONCE):
                part = slice(i, i + PAIRS_AT_ONCE)
                scores = self._encoder.similarity.pairs(vectors[first[part]], vectors[second[part]])
                yield start + i + np.arange(len(scores)), scores.astype(np.float32)[:, None]


PairScorer = CrossEncoder | PolyScorer


def windows(pairs: Sequence[Pair], most: int) -> Iterator[tuple[int, int]]:
    """Cut the pairs into stretches (start, end) with at most `most` distinct sentences each, in order."""
    start, texts = 0, set[str]()
    for end, pair in enumerate(pairs):
        if end > start and len(texts) + len(set(pair) - texts) > most:
            yield start, end
            start, texts = end, set()
        texts.update(pair)
    if start < len(pairs):
        yield start, len(pairs)
