"""Choose the device and the number format for this machine, and the attention that is fastest on it."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sbert_app.errors import UserError

CPU_TOKENS = 1_500  # padded tokens per batch; 1,000 to 2,000 measured fastest on 2 cores
CUDA_TOKENS = 65_536
NAME = "short"
LONGEST = 128  # tokens; the scores of a whole batch are held in memory, too many for longer sentences


@dataclass(frozen=True)
class Hardware:
    """The device and precision that a model runs in."""

    device: torch.device
    dtype: torch.dtype

    @property
    def token_budget(self) -> int:
        return CUDA_TOKENS if self.device.type == "cuda" else CPU_TOKENS

    @property
    def ahead(self) -> int:
        """Batches to start before an earlier one is fetched: a GPU computes while Python prepares the next, a CPU cannot."""
        return 2 if self.device.type == "cuda" else 0

    @property
    def precision(self) -> str:
        return "bf16" if self.dtype == torch.bfloat16 else "fp32"

    def __str__(self) -> str:
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        return f"{name}, {self.precision}"


def machine() -> str:
    """Processor and cores, to show beside measured times, such as "AMD EPYC 9B45, 2 cores"."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        processor = next(names, platform.machine())
    except OSError:
        processor = platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores"


def choose_hardware(device: str = "auto", precision: str = "auto") -> Hardware:
    """CUDA if available; bf16 where it is native, else fp32. Never float16: several times slower than fp32 on a CPU."""
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("SBERT_STUDIO_DEVICE is 'cuda', but torch sees no CUDA device. Use 'auto' or 'cpu'.")
    chosen = torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")
    bf16 = {"bf16": True, "fp32": False}.get(precision, _has_native_bf16(chosen))
    return Hardware(chosen, torch.bfloat16 if bf16 else torch.float32)


def _has_native_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def cores() -> int:
    """Threads worth computing with: torch's number, which knows cores and OMP_NUM_THREADS, at most what a container grants."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        granted = max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):  # no Linux container, or "max": no limit
        return torch.get_num_threads()
    return min(granted, torch.get_num_threads())


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

    AttentionInterface.register(NAME, short_attention)
    AttentionMaskInterface.register(NAME, eager_mask)
    model.set_attn_implementation(NAME)
