"""Cut rows into batches by length (smart batching: paper, section 7), and place several sentences in one row: little padding."""

from collections.abc import Iterator, Sequence
from heapq import heapreplace

import numpy as np
import torch
from torch import Tensor

from sbert_app.models.engine.forward import Features
from sbert_app.vectors import Rows

GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, fill 0..1 more evenly than random numbers do
ROW = 96  # tokens of a packed row, about: longer ones make tokens attend in vain, of shorter ones attention has many small products
WORTH = 0.95  # of the tokens of a padded batch: attention in vain costs the same where less padding is saved


def token_budget_batches(lengths: Sequence[int], budget: int) -> list[Rows]:
    """Cut rows into batches of at most `budget` padded tokens; a longer row is a batch of its own.

    lengths: tokens per row, (n,). Returns row numbers, each once. Lengths are mixed, so that the speed so far predicts the rest.
    """
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    return _mixed(list(_cut(order, lengths, budget)))


def equal_batches(lengths: Sequence[int], count: int) -> list[Rows]:
    """Cut rows into `count` batches of about as many tokens, similar lengths together. Mixed as those of `token_budget_batches`."""
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    tokens = np.cumsum(np.asarray(lengths)[order])
    edges = np.searchsorted(tokens, tokens[-1:] * np.arange(1, count) // count)
    return _mixed([batch for batch in np.split(order, edges) if len(batch)])


def _mixed(batches: list[Rows]) -> list[Rows]:
    return [batches[i] for i in np.argsort(np.arange(1, len(batches) + 1) * GOLDEN % 1, kind="stable")]


def _cut(order: Rows, lengths: Sequence[int], budget: int) -> Iterator[Rows]:
    start = 0
    for end, row in enumerate(order):
        # Rows are sorted by length, so the newest row sets the width of its batch.
        if end > start and (end - start + 1) * lengths[row] > budget:
            yield order[start:end]
            start = end
    if start < len(order):
        yield order[start:]


class Packing:
    """A padded batch with its sentences side by side in fewer rows, of which hardly a token is padding.

    features: `input_ids` (R, W); `attention_mask`, which numbers the sentences from 1 on, 0 is padding; `position_ids`, of each
    token in its sentence. On a CPU.
    """

    def __init__(self, features: Features) -> None:
        """features: `input_ids` and `attention_mask`, (B, T)."""
        self._mask = features["attention_mask"].numpy().astype(bool)
        lengths = self._mask.sum(1)
        rows, starts, width = side_by_side(lengths.tolist())
        position = np.nonzero(self._mask)[1]
        self._places = np.repeat(np.array(rows) * width + starts, lengths) + position
        columns = features["input_ids"].numpy()[self._mask], np.repeat(np.arange(1, len(rows) + 1), lengths), position
        packed = np.zeros((3, (max(rows) + 1) * width), np.int64)
        packed[:, self._places] = columns
        parts = torch.from_numpy(packed).view(3, -1, width)
        self.features = dict(zip(("input_ids", "attention_mask", "position_ids"), parts, strict=True))

    def undone(self, tokens: Tensor) -> Tensor:
        """(R, W, dim) -> (B, T, dim), zero in the padding."""
        padded = tokens.new_zeros(*self._mask.shape, tokens.shape[2])
        padded[torch.from_numpy(self._mask)] = tokens.flatten(0, 1)[torch.from_numpy(self._places)]
        return padded


def side_by_side(lengths: Sequence[int]) -> tuple[list[int], list[int], int]:
    """Place sentences in rows: the longest first, each in the row with the fewest tokens; or each in its own, if that pads little.

    Returns (the row of each, where in it each begins, the tokens of the fullest row).
    """
    longest, total = max(lengths), sum(lengths)
    used = [(0, row) for row in range(max(1, total // max(ROW, longest)))]  # a heap
    rows, starts = list(range(len(lengths))), [0] * len(lengths)
    for i in sorted(rows, key=lambda i: -lengths[i]):
        starts[i], rows[i] = used[0]
        heapreplace(used, (starts[i] + lengths[i], rows[i]))
    fullest = max(used)[0]
    if fullest * len(used) < WORTH * longest * len(lengths):
        return rows, starts, fullest
    return list(range(len(lengths))), [0] * len(lengths), longest


def with_positions(features: Features) -> Features:
    """As `Packing.features` are, but each sentence in a row of its own, with its padding."""
    ids = features["input_ids"]
    return features | {"position_ids": torch.arange(ids.shape[1]).expand_as(ids)}
