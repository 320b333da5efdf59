"""What runs a transformer over batches; the engine that always can: torch, on a GPU or a CPU; and a model on an engine."""

import threading
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import torch
from torch import Tensor

from sbert_app.models.engine.forward import Features, Fetch, Start
from sbert_app.models.engine.hardware import Hardware

Finish = Callable[[Tensor, Features], Tensor]  # a transformer's outputs and its inputs -> what is asked of it


class Engine(Protocol):
    """Computes a transformer's outputs: token vectors (B, T, width), or the logits (B, k) of a cross-encoder."""

    @property
    def name(self) -> str:
        """As the page calls it."""

    def token_budget(self, tokens: int) -> int:
        """Padded tokens per batch that it is fastest with, for a job of so many tokens."""

    @property
    def ahead(self) -> int:
        """Batches to start before an earlier one is fetched."""

    def start(self, features: Features, finish: Finish) -> Fetch:
        """Begin a batch, (B, T) ids; calling the result waits for it and gives its outputs, finished."""

    def settle(self) -> float:
        """Wait until nothing that was started still computes. Returns the seconds lost: those in which half computed count half."""


class TorchEngine:
    """Runs `forward` without gradients. On a GPU it only queues the work; on a CPU it has computed when `start` returns."""

    name = "torch"

    def __init__(self, forward: Callable[[Features], Tensor], hardware: Hardware) -> None:
        self._forward, self._device = forward, hardware.device
        self._budget, self.ahead = hardware.token_budget, hardware.ahead

    def start(self, features: Features, finish: Finish) -> Fetch:
        return at_once(lambda batch: finish(self._forward(batch), batch))(features)

    def token_budget(self, tokens: int) -> int:
        return self._budget

    def settle(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return 0.0


def at_once(forward: Callable[[Features], Tensor]) -> Start:
    """Compute a batch when it is started, without gradients."""

    def start(features: Features) -> Fetch:
        with torch.inference_mode():
            outputs = forward(features)
        return lambda: outputs

    return start


@dataclass(frozen=True)
class UnreadWeights:
    """Stands for a transformer whose weights are read when torch is needed."""

    config: Any


class OnEngine:
    """A model whose transformer runs on an engine: torch, until another is there. It may change between two batches.

    reader: reads torch's weights from disk again. A model that has one gives them up while another engine computes.
    """

    def __init__(self, transformer: Any, forward: Callable[[Features], Tensor], hardware: Hardware) -> None:
        """transformer: torch's, or UnreadWeights if `reader` is set before torch is needed. forward: the transformer on torch."""
        self.config, self.hardware = transformer.config, hardware
        self.reader: Callable[[], Any] | None = None
        self._transformer = None if isinstance(transformer, UnreadWeights) else transformer
        self._reading = threading.Lock()
        self.torch_engine = TorchEngine(forward, hardware)
        self.engine: Engine = self.torch_engine
        self.engine_note = ""  # why it has no faster engine, where it should

    @property
    def transformer(self) -> Any:
        """The model on torch, read again if it was given up."""
        with self._reading:
            if self._transformer is None and self.reader is not None:
                self._transformer = self.reader()
            return self._transformer

    def use(self, engine: Engine) -> None:
        """Compute with this engine from the next batch on."""
        self.engine = engine
        self.release()

    def release(self) -> None:
        """Give up torch's weights, unless they cannot be read again."""
        with self._reading:
            if self.reader is not None:
                self._transformer = None

    def ahead(self) -> int:
        """Batches that the engine of this moment wants started before an earlier one is fetched."""
        return self.engine.ahead

    def on(self, engine: Engine) -> Self:
        """This model with another engine, sharing all else."""
        other = copy(self)
        other.engine = engine
        return other

    @property
    def runs_on(self) -> str:
        """Device, precision and engine, such as "CPU, bf16, OpenVINO"."""
        return f"{self.hardware}, {self.engine.name}"
