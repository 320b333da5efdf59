"""Train only the word vectors that the data uses.

AdamW without weight decay leaves a vector alone whose gradient is always zero. So a smaller embedding table gives exactly
the same model, while the optimizer, the gradient norm and the checkpoints lose the half of a small encoder that is unused.
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
        self._whole: nn.Embedding = model.get_input_embeddings()
        used = {token for ids in sentences for token in ids} - {padding}
        # Padding keeps its number: some models (RoBERTa, MPNet) count positions by it.
        self._kept = sorted(used)
        self._kept.insert(min(padding, len(self._kept)), padding)
        place = self._kept.index(padding)
        self.usable = place == padding and len(self._kept) < self._whole.num_embeddings
        if self.usable:
            self._numbers = {token: number for number, token in enumerate(self._kept)}
            model.set_input_embeddings(self._part(place))

    def renumber(self, sentences: Sequence[Sequence[int]]) -> Ids:
        """Token numbers of the small table instead of the whole one."""
        return [[self._numbers[token] for token in ids] for ids in sentences] if self.usable else [list(ids) for ids in sentences]

    def restore(self) -> None:
        """Put the trained vectors back into the whole table, and the table back into the model."""
        if self.usable:
            with torch.no_grad():
                self._whole.weight[self._rows()] = self._model.get_input_embeddings().weight.to(self._whole.weight.device)
            self._model.set_input_embeddings(self._whole)
            self.usable = False

    def _part(self, padding: int) -> Any:
        weights = self._whole.weight.detach()[self._rows()].clone()
        part = nn.Embedding.from_pretrained(weights, freeze=False, padding_idx=padding)
        part.weight.requires_grad_(self._whole.weight.requires_grad)
        return part

    def _rows(self) -> torch.Tensor:
        return torch.from_numpy(np.array(self._kept, dtype=np.int64)).to(self._whole.weight.device)


def lengths_of(*columns: Ids) -> NDArray[np.int64]:
    """Tokens of each example's longest sentence, (n,)."""
    return np.array([max(map(len, row)) for row in zip(*columns, strict=True)], dtype=np.int64)
