"""Train only the word vectors that the data uses.

AdamW without weight decay never changes a vector whose gradient is always zero. So a smaller embedding table gives exactly
the same model, and optimizer, gradient norm and checkpoints skip the unused half of a small encoder.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

Ids = list[list[int]]


class Vocabulary:
    """The word embedding of `model`, cut down to the tokens in `sentences` until `restore` is called."""

    def __init__(self, model: Any, sentences: Iterable[Sequence[int]], padding: int) -> None:
        self._model = model
        self._full: nn.Embedding = model.get_input_embeddings()
        used = {token for ids in sentences for token in ids} - {padding}
        # Padding keeps its id: some models (RoBERTa, MPNet) compute positions from it.
        self._kept = sorted(used)
        self._kept.insert(min(padding, len(self._kept)), padding)
        position = self._kept.index(padding)
        self.usable = position == padding and len(self._kept) < self._full.num_embeddings
        if self.usable:
            self._small_ids = {token: small for small, token in enumerate(self._kept)}
            model.set_input_embeddings(self._small_table(position))

    def renumber(self, sentences: Sequence[Sequence[int]]) -> Ids:
        """Replace token ids by those of the small table."""
        return [[self._small_ids[token] for token in ids] for ids in sentences] if self.usable else [list(ids) for ids in sentences]

    def restore(self) -> None:
        """Copy the trained vectors into the full table, and put it back into the model."""
        if self.usable:
            with torch.no_grad():
                self._full.weight[self._rows()] = self._model.get_input_embeddings().weight.to(self._full.weight.device)
            self._model.set_input_embeddings(self._full)
            self.usable = False

    def _small_table(self, padding: int) -> Any:
        weights = self._full.weight.detach()[self._rows()].clone()
        table = nn.Embedding.from_pretrained(weights, freeze=False, padding_idx=padding)
        table.weight.requires_grad_(self._full.weight.requires_grad)
        return table

    def _rows(self) -> torch.Tensor:
        return torch.from_numpy(np.array(self._kept, dtype=np.int64)).to(self._full.weight.device)


def lengths_of(*columns: Ids) -> NDArray[np.int64]:
    """Tokens of each example's longest sentence, (n,)."""
    return np.array([max(map(len, row)) for row in zip(*columns, strict=True)], dtype=np.int64)
