"""Embed a run's held-out examples."""

from collections.abc import Generator

import numpy as np
import torch

from sbert_app.labelled.example_set import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware
from sbert_app.vectors import Vectors


def embed(encoder: Encoder, examples: Examples, hardware: Hardware) -> Generator[None, None, list[Vectors]]:
    """Embed each sentence column, (n, dim). Yields between batches, so that other jobs may use the device."""
    columns = []
    mixed = hardware.dtype == torch.bfloat16
    for sentences in examples.sentences:
        vectors = np.empty((len(sentences), encoder.dim), dtype=np.float32)
        batches = encoder.stream(sentences)
        while True:
            with torch.autocast(hardware.device.type, torch.bfloat16, enabled=mixed):
                batch = next(batches, None)
            if batch is None:
                break
            vectors[batch[0]] = batch[1]
            yield
        columns.append(vectors)
    return columns
