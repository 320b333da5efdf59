"""Baselines for SBERT: averaged word vectors, and the encoder without smart batching."""

from collections.abc import Iterator, Sequence

import numpy as np

from sbert_app.models.batching import Rows
from sbert_app.models.encoder import Encoder
from sbert_app.models.forward import infer
from sbert_app.vectors import Vectors

BATCH = 1_024


class AverageWordVectors:
    """The mean of an encoder's input word vectors: takes the place of the paper's "Avg. GloVe"."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors = encoder.transformer.get_input_embeddings().weight.detach().float().cpu().numpy()

    def stream(self, sentences: Sequence[str]) -> Iterator[tuple[Rows, Vectors]]:
        """Yield (row numbers, (b, dim) float32 vectors) batch by batch. Special tokens are averaged too."""
        for start in range(0, len(sentences), BATCH):
            ids = self._encoder.tokenize(sentences[start : start + BATCH])
            lengths = np.array([len(row) for row in ids])
            sums = np.add.reduceat(self._vectors[np.concatenate(ids)], np.cumsum(lengths) - lengths)
            yield np.arange(start, start + len(ids)), (sums / lengths[:, None]).astype(np.float32)


def plain_stream(encoder: Encoder, sentences: Sequence[str], batch_size: int) -> Iterator[tuple[Rows, Vectors]]:
    """Embed without smart batching: batches of a fixed size in the given order, padded to their longest sentence."""
    for start in range(0, len(sentences), batch_size):
        ids = encoder.tokenize(sentences[start : start + batch_size])
        yield np.arange(start, start + len(ids)), infer(encoder.embed, encoder.pad(ids))
