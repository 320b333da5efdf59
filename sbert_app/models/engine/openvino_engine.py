"""Run a converted transformer with OpenVINO on a CPU: a stream a core, each computing a batch of its own.

One thread a batch waits for no other thread: beside two programs at full load on two cores, this keeps half of its rate, torch
a third (docs/performance.md).
"""

import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import ThreadpoolController

from sbert_app.models.engine.engine import Finish
from sbert_app.models.engine.forward import Features, Fetch
from sbert_app.models.engine.hardware import Hardware, cores

TOKENS = 500  # padded tokens per batch at most; 500 to 1,500 measured alike on 2 cores, and the smaller one lets others in sooner
ROUNDS = 4  # batches a stream of a small job at least, so that no stream waits long for the last one
LEAST_TOKENS = 100
SHAPES = 200  # of batches, whose kernels a stream keeps; by default 5,000: 60 to 100 MB more, at the same rate within 2 %


class OpenVinoEngine:
    """A network of one input per feature and one output, compiled for this processor. Several threads may use it."""

    name = "OpenVINO"

    def __init__(self, network: Path, hardware: Hardware) -> None:
        """network: the .xml file, its weights beside it. Raises RuntimeError if OpenVINO cannot read it."""
        import openvino  # a quarter of a second

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
        self._idle: deque[Any] = deque()  # requests, each with memory of its own for a batch
        self._running: dict[Any, None] = {}  # in the order of their start
        self._torch_threads = ThreadpoolController().select(user_api="openmp")

    def start(self, features: Features, finish: Finish) -> Fetch:
        request = self._request()
        request.start_async({name: features[name].numpy() for name in self._inputs}, share_inputs=True)  # `fetch` keeps them alive
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
                return finish(outputs, features)

        return fetch

    def token_budget(self, tokens: int) -> int:
        return min(TOKENS, max(LEAST_TOKENS, tokens // (ROUNDS * self.ahead)))

    def settle(self) -> float:
        idle, running = 0.0, tuple(self._running)
        for ended, request in enumerate(running):
            start = time.perf_counter()
            request.wait()
            busy = min(len(running) - ended, self.ahead)
            idle += (time.perf_counter() - start) * (1 - busy / self.ahead)
        return idle

    def _request(self) -> Any:
        try:
            return self._idle.popleft()
        except IndexError:
            return self._network.create_infer_request()
