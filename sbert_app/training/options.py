"""How long and how fast to train."""

from dataclasses import dataclass

from sbert_app.errors import UserError


@dataclass(frozen=True)
class Options:
    """How long and how fast to train. `head_rate`: learning rate of what starts untrained (a softmax head)."""

    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 2e-5
    head_rate: float = 1e-3
    warmup: float = 0.1
    max_norm: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _within("epochs", self.epochs, 1, 100)
        _within("batch size", self.batch_size, 2, 1024)
        _within("learning rate", self.learning_rate, 1e-8, 1)
        _within("learning rate of the head", self.head_rate, 1e-8, 1)
        _within("warm-up", self.warmup, 0, 1)
        _within("gradient norm", self.max_norm, 1e-6, 1e6)
        _within("seed", self.seed, 0, 2**31 - 1)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, (int, float)) and low <= value <= high):
        raise UserError(f"The {name} must lie in {low:g}..{high:g}, got {value!r}.")
