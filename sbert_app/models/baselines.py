"""Baselines for SBERT: averaged word vectors, and the encoder without smart batching."""

from collections.abc import Iterator, Sequence

import numpy as np

from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.batching import Rows
from sbert_app.vectors import Vectors

BATCH = 1_024


class AverageWordVectors:
    """The mean of an encoder's input word vectors: takes the place of the paper's "Avg. GloVe"."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors = encoder.transformer.get_input_embeddings().weight.detach().float().cpu().numpy()

    def stream(self, sentences: Sequence[str]) -> Iterator[tuple[Rows, Vectors]]:
        """Yield (row numbers, (b, dim) float32 vectors) batch by batch. Special tokens are no words: without a word, zero."""
        special = self._encoder.tokenizer.all_special_ids
        for start in range(0, len(sentences), BATCH):
            ids = self._encoder.tokenize(sentences[start : start + BATCH])
            starts = np.cumsum([0, *map(len, ids[:-1])])
            tokens = np.concatenate(ids)
            is_word = ~np.isin(tokens, special)
            counts = np.add.reduceat(is_word, starts, dtype=np.int64)
            vectors = self._vectors[tokens]
            vectors[~is_word] = 0
            means = np.add.reduceat(vectors, starts) / np.maximum(counts, 1)[:, None]
            yield np.arange(start, start + len(ids)), means.astype(np.float32)


def plain_stream(encoder: Encoder, sentences: Sequence[str], batch_size: int) -> Iterator[tuple[Rows, Vectors]]:
    """Embed without smart batching: batches of a fixed size in the given order, padded to their longest sentence."""
    batches = (np.arange(start, min(start + batch_size, len(sentences))) for start in range(0, len(sentences), batch_size))
    return encoder.stream_batches(batches, lambda rows: encoder.pad(encoder.tokenize([sentences[i] for i in rows])))
