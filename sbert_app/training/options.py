"""Options of the training loop."""

from dataclasses import dataclass
from typing import Any

from sbert_app.errors import UserError

# Lowest and highest value of each option that people set.
RANGES: dict[str, tuple[Any, Any]] = {
    "epochs": (1, 100),
    "batch_size": (2, 1024),
    "learning_rate": (1e-8, 1.0),
    "seed": (0, 2**31 - 1),
}


@dataclass(frozen=True)
class Options:
    """Options of the training loop. `head_rate`: learning rate of a softmax head, which starts untrained."""

    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 2e-5
    head_rate: float = 1e-3
    warmup: float = 0.1
    max_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            _within(name.replace("_", " "), getattr(self, name), low, high)
        _within("learning rate of the head", self.head_rate, 1e-8, 1)
        _within("warm-up", self.warmup, 0, 1)
        _within("gradient norm", self.max_norm, 1e-6, 1e6)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, (int, float)) and low <= value <= high):
        raise UserError(f"The {name} must lie in {low:g}..{high:g}, got {value!r}.")
