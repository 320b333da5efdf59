"""Smart batching (paper, section 7): group sentences of similar length, cut by a budget of padded tokens."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sbert_app.vectors import Rows

GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, fill 0..1 more evenly than random numbers do


def token_budget_batches(lengths: Iterable[int], budget: int) -> list[Rows]:
    """Cut rows into batches of at most `budget` padded tokens; a longer row is a batch of its own.

    lengths: tokens per row, (n,). Returns row numbers, each once. Lengths are mixed, so that the speed so far predicts the rest.
    """
    lengths = list(lengths)
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    batches = list(_cut(order, lengths, budget))
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


def distinct(sentences: Sequence[str]) -> tuple[list[str], Rows]:
    """Return (unique sentences, inverse (n,)), where `unique[inverse[i]] == sentences[i]`."""
    positions: dict[str, int] = {}
    inverse = np.fromiter((positions.setdefault(s, len(positions)) for s in sentences), np.int64, len(sentences))
    return list(positions), inverse
