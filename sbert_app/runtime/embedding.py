"""Embed a corpus batch by batch, first from the cache; what was computed is kept, also when the work is stopped."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.models.batching import Rows
from sbert_app.models.encoder import Encoder

if TYPE_CHECKING:
    from sbert_app.runtime.workbench import Workbench

CACHE_EVERY = 20_000  # sentences between two writes to the cache: what a killed process can lose


class EmbeddingJob:
    """`run` advances; each step gives the number of sentences done. `embeddings` (n, dim) is whole at the end."""

    def __init__(self, bench: "Workbench", encoder: Encoder, sentences: Sequence[str]) -> None:
        self._bench = bench
        self._encoder = encoder
        self._sentences = sentences
        if bench.settings.hosted:  # one visitor's sentences must leave no trace that another could time
            self.embeddings = np.zeros((len(sentences), encoder.dim), dtype=np.float32)
            known = np.zeros(len(sentences), dtype=bool)
        else:
            self.embeddings, known = bench.cache.lookup(encoder.fingerprint, sentences, encoder.dim)
        self._missing = np.flatnonzero(~known)
        self.cached = len(sentences) - len(self._missing)

    def run(self) -> Generator[int, None, None]:
        done = self.cached
        prompt = self._encoder.prompt("document", "passage", "corpus")
        batches = self._bench.stream(self._encoder, [self._sentences[i] for i in self._missing.tolist()], prompt)
        unsaved: list[Rows] = []
        yield done
        try:
            for rows, vectors in batches:
                self.embeddings[self._missing[rows]] = vectors
                unsaved.append(self._missing[rows])
                done += len(rows)
                yield done
                if sum(map(len, unsaved)) >= CACHE_EVERY:
                    self._keep(unsaved)
        finally:
            self._keep(unsaved)

    def _keep(self, unsaved: list[Rows]) -> None:
        if unsaved and not self._bench.settings.hosted:
            rows = np.concatenate(unsaved)
            sentences = [self._sentences[i] for i in rows.tolist()]
            self._bench.cache.add(self._encoder.fingerprint, sentences, self.embeddings[rows])
        unsaved.clear()
