"""The forward pass of one batch: attention of short sentences, and pooling of token vectors to a sentence vector."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from sbert_app.models.engine.hardware import Hardware

SHORT = "short"  # the name of `short_attention` in transformers
LONGEST = 128  # tokens; the scores of a whole batch are held in memory, too many for longer sentences


def short_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """softmax(q kᵀ · scaling + mask) v with a float32 softmax. q, k, v: (B, heads, T, d) -> (B, T, heads, d).

    For short sentences in bf16 on a CPU, where torch's fused kernel spends its time on overhead. Measured on 2 cores, in batches
    of 1,500 tokens: two batched products take a third (8 tokens per sentence) to four fifths (24 tokens) of the fused kernel's
    time, and the whole encoder gains 15 %. Other devices and fp32 keep the fused kernel.
    attention_mask: (B, 1, T, T), 0 where attended and very negative elsewhere. Long sentences and training use torch's own.
    """
    batch, heads, tokens, width = query.shape
    if tokens > LONGEST or key.shape != query.shape or module.training or options.get("position_bias") is not None:
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        output, _ = sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)
        return output, None
    q, k, v = (part.reshape(batch * heads, tokens, width) for part in (query, key, value))
    scores = (
        torch.bmm(q, k.transpose(1, 2)).view(batch, heads, tokens, tokens).float().mul_(width**-0.5 if scaling is None else scaling)
    )
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
