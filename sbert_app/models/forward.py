"""Run token ids through a transformer batch by batch, halving a batch that does not fit into CUDA memory."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sbert_app.models.batching import Rows, token_budget_batches

log = logging.getLogger(__name__)

Features = dict[str, Tensor]
Forward = Callable[[Features], Tensor]


def forward_batches(
    ids: Sequence[Sequence[int]], pad: Callable[[Rows], Features], forward: Forward, token_budget: int, ahead: int = 0
) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
    """Yield (row numbers, outputs), each row once; close to stop. ahead: batches to start before fetching an earlier output."""
    started: deque[tuple[Rows, Tensor]] = deque()
    for rows in token_budget_batches([len(row) for row in ids], token_budget):
        for part in _forward_halving(rows, pad, forward):
            started.append(part)
            if len(started) > ahead:
                yield _to_numpy(*started.popleft())
    while started:
        yield _to_numpy(*started.popleft())


def _forward_halving(rows: Rows, pad: Callable[[Rows], Features], forward: Forward) -> Iterator[tuple[Rows, Tensor]]:
    try:
        with torch.inference_mode():
            outputs = forward(pad(rows))
    except torch.OutOfMemoryError:
        if len(rows) == 1:
            raise
        log.warning("out of device memory with %d rows, continuing with half", len(rows))
    else:
        yield rows, outputs
        return
    # Outside the except block: the traceback would keep the failed batch's tensors alive.
    torch.cuda.empty_cache()
    half = len(rows) // 2
    yield from _forward_halving(rows[:half], pad, forward)
    yield from _forward_halving(rows[half:], pad, forward)


def _to_numpy(rows: Rows, outputs: Tensor) -> tuple[Rows, NDArray[np.float32]]:
    return rows, outputs.float().cpu().numpy()


def infer(forward: Forward, features: Features) -> NDArray[np.float32]:
    """One forward pass without gradients -> float32 array."""
    with torch.inference_mode():
        return forward(features).float().cpu().numpy()


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
