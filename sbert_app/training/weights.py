"""Named tensors in a safetensors file with a checksum: the checkpoint and the best weights of a run."""

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from sbert_app.storage import SEAL

if TYPE_CHECKING:
    from sbert_app.training.trainer import State


def save(path: Path, state: "State") -> None:
    """Write a temporary file, then rename it: a killed process leaves the old file intact."""
    from safetensors.torch import save_file

    state = {name: tensor.contiguous() for name, tensor in state.items()}
    temporary = _temporary(path)
    try:
        save_file(state, temporary, metadata={SEAL: _checksum(state)})
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)  # frees space on a full disk, where the state is written next
        raise


def load(path: Path) -> "State | None":
    """The tensors, None if there is no file. Raises ValueError, OSError or SafetensorError if they are damaged."""
    from safetensors import safe_open
    from safetensors.torch import load_file

    if not path.exists():
        return None
    with safe_open(path, "pt") as file:
        expected = (file.metadata() or {}).get(SEAL)
    state = load_file(path)
    if expected is not None and expected != _checksum(state):
        raise ValueError(f"{path.name} has changed since it was written")
    return state


def drop(path: Path) -> None:
    """Delete the file and any temporary one that a killed process left."""
    for file in (path, _temporary(path)):
        file.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}")


def _checksum(state: "State") -> str:
    """CRC-32 over names, shapes and bytes, 8 hex digits."""
    import torch

    value = 0
    for name, tensor in sorted(state.items()):
        value = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), value)
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return f"{value:08x}"
