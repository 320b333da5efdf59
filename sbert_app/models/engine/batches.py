"""Smart batching (paper, section 7): sentences cut into batches of similar length, padded, run, halved if too large."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import length_hint

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sbert_app.vectors import Rows

GOLDEN = (5**0.5 - 1) / 2  # its multiples, modulo 1, fill 0..1 more evenly than random numbers do

log = logging.getLogger(__name__)

Features = dict[str, Tensor]
Fetch = Callable[[], Tensor]  # waits for the outputs of a batch
Start = Callable[[Features], Fetch]  # begins to compute a batch
Foresee = Callable[[float, float], None]  # is told the seconds of a batch, and those that the batches after it will take


def forward_batches(
    batches: Iterable[Rows],
    pad: Callable[[Rows], Features],
    start: Start,
    ahead: Callable[[], int] = lambda: 0,
    foresee: Callable[[], Foresee | None] = lambda: None,
) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
    """Yield (row numbers, outputs), each row once; close to stop. A batch that does not fit into CUDA memory is halved.

    ahead: batches to start before fetching an earlier output; foresee: who is told how long it takes, if anybody; both are asked at
    each batch: the engine may change between two.
    """
    started: deque[tuple[Rows, Fetch]] = deque()
    try:
        for rows in _timed(batches, foresee):
            for part in _start_halving(rows, pad, start):
                started.append(part)
                if len(started) > ahead():
                    yield _fetched(*started.popleft())
        while started:
            yield _fetched(*started.popleft())
    finally:
        for _, fetch in started:  # stopped early: nothing computes on after the caller has gone
            fetch()


def _timed(batches: Iterable[Rows], foresee: Callable[[], Foresee | None]) -> Iterator[Rows]:
    """The batches, with what they take told to `foresee`, while there is one."""
    count = length_hint(batches)
    start = time.perf_counter()
    for number, rows in enumerate(batches):
        if number and (tell := foresee()):
            seconds = (time.perf_counter() - start) / number
            tell(seconds, seconds * (count - number))
        yield rows


def _start_halving(rows: Rows, pad: Callable[[Rows], Features], start: Start) -> Iterator[tuple[Rows, Fetch]]:
    try:
        fetch = start(pad(rows))
    except torch.OutOfMemoryError:
        if len(rows) == 1:
            raise
        log.warning("out of device memory with %d rows, continuing with half", len(rows))
    else:
        yield rows, fetch
        return
    # Outside the except block: the traceback would keep the failed batch's tensors alive.
    torch.cuda.empty_cache()
    half = len(rows) // 2
    yield from _start_halving(rows[:half], pad, start)
    yield from _start_halving(rows[half:], pad, start)


def _fetched(rows: Rows, fetch: Fetch) -> tuple[Rows, NDArray[np.float32]]:
    return rows, fetch().float().cpu().numpy()


def pad_rows(rows: Sequence[Sequence[int]], value: int, device: torch.device) -> Tensor:
    """Pad to the longest row. n rows of <= T ids -> (n, T) int64 on the device."""
    padded = np.full((len(rows), max(map(len, rows))), value, dtype=np.int64)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return _to_device(torch.from_numpy(padded), device)


def attention_mask(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """1 for real tokens, 0 for padding. n rows of <= T ids -> (n, T) int64 on the device."""
    lengths = torch.tensor([len(row) for row in rows])
    return _to_device((torch.arange(int(lengths.max())) < lengths[:, None]).long(), device)


def _to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy to the device, from pinned memory so that the copy is asynchronous."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


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
