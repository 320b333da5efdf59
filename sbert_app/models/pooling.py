"""Turn token vectors into one sentence vector (paper, section 3: MEAN is the default, MAX over time, CLS)."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def mean_pooling(tokens: "Tensor", mask: "Tensor") -> "Tensor":
    """Average the real tokens. tokens: (B, T, D), mask: (B, T) of 0/1 -> (B, D)."""
    weights = mask.unsqueeze(-1).to(tokens.dtype)
    return (tokens * weights).sum(1) / weights.sum(1).clamp(min=1)


def max_pooling(tokens: "Tensor", mask: "Tensor") -> "Tensor":
    """Largest value of each dimension over the real tokens. (B, T, D), (B, T) -> (B, D)."""
    return tokens.masked_fill(mask.unsqueeze(-1) == 0, -math.inf).amax(1)


def cls_pooling(tokens: "Tensor", mask: "Tensor") -> "Tensor":
    """The first real token, [CLS], wherever the padding is. (B, T, D), (B, T) -> (B, D)."""
    import torch

    return tokens[torch.arange(len(tokens), device=tokens.device), mask.argmax(1)]


POOLINGS: "dict[str, Callable[[Tensor, Tensor], Tensor]]" = {"mean": mean_pooling, "max": max_pooling, "cls": cls_pooling}
