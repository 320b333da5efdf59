"""The forward pass in batches: padding, attention of short sentences, pooling of token vectors."""

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import length_hint
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sbert_app.models.engine.hardware import Hardware
from sbert_app.vectors import Batches, Rows, Vectors

SHORT = "short"  # the name of `short_attention` in transformers
LONGEST = 128  # tokens; the scores of a whole batch are held in memory, too many for longer sentences

log = logging.getLogger(__name__)

Features = dict[str, Tensor]
Forward = Callable[[Features], Tensor]  # a transformer on torch
Pad = Callable[[Rows], Features]  # the rows of these numbers as a batch
Fetch = Callable[[], Tensor]  # waits for the outputs of a batch
Start = Callable[[Features], Fetch]  # begins to compute a batch
Foresee = Callable[[float, float], None]  # is told the seconds of a batch, and those that the batches after it will take


def forward_batches(
    batches: Iterable[Rows], pad: Pad, start: Start, ahead: Callable[[], int], foresee: Callable[[], Foresee | None] = lambda: None
) -> Batches:
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


def _start_halving(rows: Rows, pad: Pad, start: Start) -> Iterator[tuple[Rows, Fetch]]:
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


def _fetched(rows: Rows, fetch: Fetch) -> tuple[Rows, Vectors]:
    return rows, fetch().float().cpu().numpy()


def at_once(forward: Forward) -> Start:
    """Compute a batch when it is started, without gradients."""

    def start(features: Features) -> Fetch:
        with torch.inference_mode():
            outputs = forward(features)
        return lambda: outputs

    return start


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


def short_attention(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, scaling: float | None = None, **rest: Any
) -> tuple[Tensor, None]:
    """softmax(q kᵀ · scaling + mask) v with a float32 softmax. q, k, v: (B, heads, T, d) -> (B, T, heads, d).

    For short sentences in bf16 on a CPU, where torch's fused kernel spends its time on overhead. Measured on 2 cores, in batches
    of 1,500 tokens: two batched products take a third (8 tokens per sentence) to four fifths (24 tokens) of the fused kernel's
    time, and the whole encoder gains 15 %. Other devices and fp32 keep the fused kernel.
    attention_mask: (B, 1, T, T), 0 where attended and very negative elsewhere. Long sentences and training use torch's own.
    """
    batch, heads, tokens, width = query.shape
    if tokens > LONGEST or key.shape != query.shape or module.training or rest.get("position_bias") is not None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **rest)
    q, k, v = (part.reshape(batch * heads, tokens, width) for part in (query, key, value))
    scores = torch.bmm(q, k.transpose(1, 2)).view(batch, heads, tokens, tokens).float()
    scores.mul_(width**-0.5 if scaling is None else scaling)
    if attention_mask is not None:
        scores = scores.add_(attention_mask)
    weights = scores.softmax(-1).to(v.dtype).view(batch * heads, tokens, tokens)
    return torch.bmm(weights, v).view(batch, heads, tokens, width).transpose(1, 2), None


def use_fastest_attention(model: Any, hardware: Hardware) -> None:
    """Use `short_attention` in a transformer that supports it, where it is faster: bf16 on a CPU."""
    if hardware.device.type != "cpu" or hardware.dtype != torch.bfloat16 or not model._supports_attention_backend:
        return
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    AttentionInterface.register(SHORT, short_attention)
    AttentionMaskInterface.register(SHORT, eager_mask)
    model.set_attn_implementation(SHORT)


# Token vectors to one sentence vector (paper, section 3): MEAN is the default, MAX over time, CLS.


def mean_pooling(tokens: Tensor, mask: Tensor) -> Tensor:
    """Average the real tokens. tokens: (B, T, D), mask: (B, T) of 0/1 -> (B, D)."""
    weights = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weights).sum(1) / weights.sum(1).clamp(min=1)


def max_pooling(tokens: Tensor, mask: Tensor) -> Tensor:
    """Largest value of each dimension over the real tokens. (B, T, D), (B, T) -> (B, D)."""
    return tokens.masked_fill(mask.unsqueeze(-1) == 0, -math.inf).amax(1)


def cls_pooling(tokens: Tensor, mask: Tensor) -> Tensor:
    """The first real token, [CLS], wherever the padding is. (B, T, D), (B, T) -> (B, D)."""
    return tokens[torch.arange(len(tokens), device=tokens.device), mask.argmax(1)]


POOL: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"mean": mean_pooling, "max": max_pooling, "cls": cls_pooling}
