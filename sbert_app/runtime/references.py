"""Measure once per encoder how it scores the reference pairs: a few hundred short sentences, under a second."""

import threading
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sbert_app.explain.scale import Pairs, References, reference_pairs
from sbert_app.runtime.embedding import Embedder
from sbert_app.settings import Limits
from sbert_app.vectors import unit_rows

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

KEPT = 8  # encoders; a few kilobytes each


class ReferenceScores:
    """Scores of the reference pairs by encoder."""

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._limits = embedder, limits
        self._measured: OrderedDict[str, References] = OrderedDict()
        self._measuring = threading.Lock()  # one encoder at a time

    def of(self, encoder: "Encoder") -> References:
        """The scores under this encoder, measured at its first use."""
        if (known := self._measured.get(encoder.fingerprint)) is not None:
            return known
        with self._measuring:
            if encoder.fingerprint not in self._measured:
                self._measured[encoder.fingerprint] = self._measure(encoder)
                while len(self._measured) > KEPT:
                    self._measured.popitem(last=False)
            return self._measured[encoder.fingerprint]

    def _measure(self, encoder: "Encoder") -> References:
        return References(*(self._scores(encoder, pairs) for pairs in reference_pairs(self._limits)))

    def _scores(self, encoder: "Encoder", pairs: Pairs) -> NDArray[np.float32]:
        """The cosine of each pair, rising, (n,)."""
        job = self._embedder.job(encoder, [sentence for pair in pairs for sentence in pair])
        deque(job.run(), maxlen=0)  # run to the end
        unit = unit_rows(job.embeddings)
        return np.sort(np.einsum("nd,nd->n", unit[0::2], unit[1::2]))
