"""Which device and which number format this machine is good at."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from sbert_app.errors import UserError

CPU_TOKENS = 1_500  # padded tokens a batch: measured best between 1,000 and 2,000 on 2 cores
CUDA_TOKENS = 65_536


@dataclass(frozen=True)
class Hardware:
    """Where a model runs and in which precision."""

    device: torch.device
    dtype: torch.dtype

    @property
    def token_budget(self) -> int:
        return CUDA_TOKENS if self.device.type == "cuda" else CPU_TOKENS

    @property
    def ahead(self) -> int:
        """Batches to start before an earlier one is fetched: a GPU works while Python prepares the next, a CPU cannot."""
        return 2 if self.device.type == "cuda" else 0

    @property
    def precision(self) -> str:
        return "bf16" if self.dtype == torch.bfloat16 else "fp32"

    def __str__(self) -> str:
        name = torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "CPU"
        return f"{name}, {self.precision}"


def machine() -> str:
    """Such as "AMD EPYC 9B45, 2 cores": what a measured figure must say beside itself."""
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def choose_hardware(device: str = "auto", precision: str = "auto") -> Hardware:
    """CUDA when there is one, bf16 where the processor multiplies it natively, else fp32.

    Plain float16 is never chosen: on CPU it is several times slower than fp32.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise UserError("SBERT_STUDIO_DEVICE is 'cuda', but torch sees no CUDA device. Use 'auto' or 'cpu'.")
    chosen = torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")
    native = {"bf16": True, "fp32": False}.get(precision, _has_native_bf16(chosen))
    return Hardware(chosen, torch.bfloat16 if native else torch.float32)


def _has_native_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
