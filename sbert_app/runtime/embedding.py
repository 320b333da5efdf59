"""Embed a corpus batch by batch, using the cache; what is computed before a stop is cached too."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.models.engine.batching import Rows
from sbert_app.runtime.device import Device

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

CACHE_EVERY = 20_000  # sentences between writes to the cache: work lost if the process dies


class Embedder:
    """Creates embedding jobs. Hosted, the cache keeps nothing: its speed would reveal to others which sentences it holds."""

    def __init__(self, device: Device, cache: EmbeddingCache) -> None:
        self._device, self._cache = device, cache

    def job(self, encoder: "Encoder", sentences: Sequence[str]) -> "EmbeddingJob":
        return EmbeddingJob(self._device, self._cache, encoder, sentences)


class EmbeddingJob:
    """`run` yields the number of sentences done after each batch; then `embeddings` (n, dim) is complete. done: which are, (n,)."""

    def __init__(self, device: Device, cache: EmbeddingCache, encoder: "Encoder", sentences: Sequence[str]) -> None:
        self._device, self._cache, self._encoder, self._sentences = device, cache, encoder, sentences
        self.embeddings, self.done = cache.lookup(encoder.fingerprint, sentences, encoder.dim)
        self._missing = np.flatnonzero(~self.done)
        self.cached = len(sentences) - len(self._missing)

    def run(self) -> Generator[int, None, None]:
        done = self.cached
        prompt = self._encoder.document_prompt
        batches = self._device.stream(self._encoder, [self._sentences[i] for i in self._missing.tolist()], prompt)
        unsaved: list[Rows] = []
        yield done
        try:
            for rows, vectors in batches:
                self.embeddings[self._missing[rows]] = vectors
                self.done[self._missing[rows]] = True
                unsaved.append(self._missing[rows])
                done += len(rows)
                yield done
                if sum(map(len, unsaved)) >= CACHE_EVERY:
                    self._write_cache(unsaved)
        finally:
            self._write_cache(unsaved)

    def _write_cache(self, unsaved: list[Rows]) -> None:
        if unsaved:
            rows = np.concatenate(unsaved)
            self._cache.add(self._encoder.fingerprint, [self._sentences[i] for i in rows.tolist()], self.embeddings[rows])
        unsaved.clear()
