"""What runs a transformer over batches: torch, which always can, or OpenVINO on a CPU; and a model on one of them.

OpenVINO has a stream a core, each computing a batch of its own. One thread a batch waits for no other thread: beside two programs
at full load on two cores, this keeps half of its rate, torch a third (docs/performance.md).
"""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from sbert_app.models.engine.forward import Features, Fetch, Forward, Start, at_once, attention_mask, forward_batches, pad_rows
from sbert_app.models.engine.hardware import Hardware, cores
from sbert_app.models.engine.packing import Packing, equal_batches, token_budget_batches, with_positions
from sbert_app.models.files.layout import length_limit
from sbert_app.vectors import Batches, Rows

Finish = Callable[[Tensor, Features], Tensor]  # a transformer's outputs and its inputs -> what is asked of it
CPU_TOKENS = 1_500  # padded tokens per batch on torch; 1,000 to 2,000 measured fastest on 2 cores
CUDA_TOKENS = 65_536  # two batches are started ahead: a GPU computes while Python prepares the next, a CPU cannot
TOKENS = 500  # padded tokens per batch at most; 500 to 1,500 measured alike on 2 cores, and the smaller one lets others in sooner
ROUNDS = 4  # batches a stream of a small job at least, so that no stream waits long for the last one
LEAST_TOKENS = 100
LEAST_PACKED = 60  # tokens, if there are more: with fewer a stream mostly reads weights
SHAPES = 200  # of batches, whose kernels a stream keeps; by default 5,000: 60 to 100 MB more, at the same rate within 2 %


class TorchEngine:
    """Runs `forward` without gradients. On a GPU it only queues the work; on a CPU it has computed when `start` returns."""

    name = "torch"  # as the page calls it

    def __init__(self, forward: Forward, hardware: Hardware) -> None:
        self._forward, self._hardware = forward, hardware
        self.ahead, self._tokens = (2, CUDA_TOKENS) if hardware.device.type == "cuda" else (0, CPU_TOKENS)

    def start(self, features: Features, finish: Finish, packs: bool = True) -> Fetch:
        """Begin a batch, (B, T) ids; the result waits for token vectors (B, T, width) or logits (B, k), and gives them finished.

        packs: whether an engine that can may leave the padding out.
        """
        return at_once(lambda batch: finish(self._forward(batch), batch))(features)

    def cut(self, lengths: Sequence[int]) -> list[Rows]:
        """The batches that it is fastest with, of rows of so many tokens."""
        return token_budget_batches(lengths, self._tokens)

    def settle(self) -> float:
        """Wait until nothing that was started still computes. Returns the seconds lost: those in which half computed count half."""
        if self._hardware.device.type == "cuda":
            torch.cuda.synchronize(self._hardware.device)
        return 0.0


class OpenVinoEngine:
    """A network of one input per feature and one output, compiled for this processor. Several threads may use it.

    One that takes `position_ids` reads several sentences in a row: batches are packed, and their padding is not computed.
    """

    name = "OpenVINO"

    def __init__(self, network: Path, hardware: Hardware) -> None:
        """network: the .xml file, its weights beside it. Raises RuntimeError if OpenVINO cannot read it."""
        import openvino  # a quarter of a second
        from threadpoolctl import ThreadpoolController

        self.ahead = cores()
        # Two processes that were given a part of the cores each would be pinned to the same ones.
        options = {
            "NUM_STREAMS": self.ahead,
            "ENABLE_CPU_PINNING": self.ahead >= (os.cpu_count() or 1),
            "INFERENCE_NUM_THREADS": self.ahead,
            "CPU_RUNTIME_CACHE_CAPACITY": SHAPES,
            "INFERENCE_PRECISION_HINT": "bf16" if hardware.dtype == torch.bfloat16 else "f32",
        }
        self._network: Any = openvino.Core().compile_model(network, "CPU", options)
        self._inputs = [port.any_name for port in self._network.inputs]
        self._packs = "position_ids" in self._inputs
        self._idle: deque[Any] = deque()  # requests, each with memory of its own for a batch
        self._running: dict[Any, None] = {}  # in the order of their start
        self._torch_threads = ThreadpoolController().select(user_api="openmp")

    def start(self, features: Features, finish: Finish, packs: bool = True) -> Fetch:
        packing = Packing(features) if self._packs and packs else None
        inputs = packing.features if packing else with_positions(features)
        try:
            request = self._idle.popleft()
        except IndexError:
            request = self._network.create_infer_request()
        request.start_async({name: inputs[name].numpy() for name in self._inputs}, share_inputs=True)  # `fetch` keeps them alive
        self._running[request] = None

        def fetch() -> torch.Tensor:
            try:
                request.wait()
            finally:
                self._running.pop(request, None)
            outputs = torch.from_numpy(request.get_output_tensor(0).data.copy())
            self._idle.append(request)
            # Pooling takes a thousandth of the time; spread over threads, it waits for cores that other batches hold.
            with torch.inference_mode(), self._torch_threads.limit(limits=1):
                return finish(packing.undone(outputs) if packing else outputs, features)

        return fetch

    def cut(self, lengths: Sequence[int]) -> list[Rows]:
        tokens = sum(lengths)
        if not self._packs:
            return token_budget_batches(lengths, min(TOKENS, max(LEAST_TOKENS, tokens // (ROUNDS * self.ahead))))
        rounds = math.ceil(tokens / (TOKENS * self.ahead))
        return equal_batches(lengths, max(1, min(rounds * self.ahead, tokens // LEAST_PACKED)))

    def settle(self) -> float:
        idle, running = 0.0, tuple(self._running)
        for ended, request in enumerate(running):
            start = time.perf_counter()
            request.wait()
            busy = min(len(running) - ended, self.ahead)
            idle += (time.perf_counter() - start) * (1 - busy / self.ahead)
        return idle


@dataclass(frozen=True)
class UnreadWeights:
    """Stands for a transformer whose weights are read when torch is needed."""

    config: Any


class OnEngine:
    """A model whose transformer runs on an engine: torch, until another is there. It may change between two batches."""

    def __init__(self, name: str, model: Any, tokenizer: Any, forward: Forward, hardware: Hardware, limit: int | None) -> None:
        """model: UnreadWeights if `reader` is set before torch is needed. limit: tokens of a row, where its folder says so."""
        self.name, self.tokenizer, self.config, self.hardware = name, tokenizer, model.config, hardware
        self.folder: Path | None = None  # where it was loaded from; may hold a softmax head too
        self.max_length = length_limit(limit, tokenizer, model.config)
        # Set once: changing truncation while another thread tokenises would be a race.
        self._backend = tokenizer.backend_tokenizer
        self._backend.enable_truncation(self.max_length)
        self._backend.no_padding()
        self.reader: Callable[[], Any] | None = None  # reads torch's weights again, which are given up for another engine
        self._transformer = None if isinstance(model, UnreadWeights) else model
        self._reading = threading.Lock()
        self.torch_engine = TorchEngine(forward, hardware)
        self.engine: TorchEngine | OpenVinoEngine = self.torch_engine
        self.engine_note = ""  # why it has no faster engine, where it should
        self.foresee: Callable[[float, float], None] | None = None  # as `forward_batches` takes it

    @property
    def transformer(self) -> Any:
        """The model on torch, read again if it was given up."""
        with self._reading:
            if self._transformer is None and self.reader is not None:
                self._transformer = self.reader()
            return self._transformer

    def use(self, engine: TorchEngine | OpenVinoEngine) -> None:
        """Compute with this engine from the next batch on."""
        self.engine, self.foresee = engine, None
        self.release()

    def release(self) -> None:
        """Give up torch's weights, unless they cannot be read again."""
        with self._reading:
            if self.reader is not None:
                self._transformer = None

    def pad(self, rows: Sequence[Any]) -> Features:
        """A batch on the device, padded to its longest row of token ids."""
        device = self.hardware.device
        ids = pad_rows(rows, self.tokenizer.pad_token_id or 0, device)
        return {"input_ids": ids, "attention_mask": attention_mask(rows, device)}

    def batches(self, rows: Sequence[Any], lengths: Sequence[int], start: Start) -> Batches:
        """Compute rows that `pad` takes, of so many tokens each; yield (row numbers, outputs) batch by batch."""
        cut, ahead, foresee = self.engine.cut(lengths), lambda: self.engine.ahead, lambda: self.foresee
        return forward_batches(cut, lambda numbers: self.pad([rows[i] for i in numbers]), start, ahead, foresee)

    def save(self, folder: Path) -> None:
        """Write the transformer and its tokenizer. Needs fp32 weights: rounded ones lose precision."""
        if self.hardware.dtype != torch.float32:
            raise ValueError(f"only fp32 weights are saved, these are {self.hardware.precision}")
        folder.mkdir(parents=True, exist_ok=True)
        self.transformer.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)

    def on(self, engine: TorchEngine | OpenVinoEngine) -> Self:
        """This model with another engine, sharing all else."""
        other = copy(self)
        other.engine, other.foresee = engine, None
        return other

    @property
    def runs_on(self) -> str:
        """Device, precision and engine, such as "CPU, bf16, OpenVINO"."""
        return f"{self.hardware}, {self.engine.name}"
