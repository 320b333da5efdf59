"""Choose the device and the number format for this machine."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import torch

from sbert_app.errors import UserError


@dataclass(frozen=True)
class Hardware:
    """The device and precision that a model runs in."""

    device: torch.device
    dtype: torch.dtype

    @property
    def precision(self) -> str:
        return "bf16" if self.dtype == torch.bfloat16 else "fp32"

    def autocast(self) -> torch.autocast:
        """A context that computes in this precision, whatever the weights are in."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.dtype == torch.bfloat16)

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


def deny_gpu() -> None:
    """Let torch say that this process has no GPU, where one is only emulated: AdamW would call it, even on a CPU."""
    setattr(torch.cuda, "is_available", lambda: False)  # noqa: B010 - mypy allows no assignment


def _has_native_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    # Before 2.11 torch does not tell: fp32, which is always right.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


def cores() -> int:
    """Threads worth computing with: torch's number, which knows cores and OMP_NUM_THREADS, at most what a container grants."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return min(max(1, round(int(quota) / int(period))), torch.get_num_threads())
    except (OSError, ValueError):  # no Linux container, or "max": no limit
        return torch.get_num_threads()
