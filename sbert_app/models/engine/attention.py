"""Attention over short sentences in bf16 on a CPU, where torch's fused kernel spends its time on overhead.

Measured on 2 cores with batches of 1,500 tokens: two batched products take a third (8 tokens per sentence) to four fifths
(24 tokens) of the fused kernel's time, and the whole encoder gains 15 %. Other devices and fp32 keep the fused kernel.
"""

from typing import Any

import torch
from torch import Tensor

from sbert_app.models.engine.hardware import Hardware

NAME = "short"
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

    AttentionInterface.register(NAME, short_attention)
    AttentionMaskInterface.register(NAME, eager_mask)
    model.set_attn_implementation(NAME)
