"""`python -m sbert_app.models.conversion KIND OUT.xml FOLDER [ADAPTER]`: convert a model for OpenVINO. Needs no network.

KIND is "encoder" or "cross-encoder".
"""

import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sbert_app.models.bundled import bundled_encoder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder

NICE = 19  # the lowest priority: where a job begins meanwhile, it has the processor
EXAMPLE = ((7, 3), (11, 5))  # lengths of two rows: the longer one is padded in neither batch, the shorter in both
TOLERANCE = 1e-3  # largest difference between the outputs of torch and of the network, of values around 1

# OpenVINO then has no telemetry to send.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)  # of branches, which the check below tries


class Outputs(nn.Module):
    """A transformer as a function of tensors: token vectors (B, T, width), or the logits (B, k) of a cross-encoder."""

    def __init__(self, transformer: Any, output: str) -> None:
        super().__init__()
        self.transformer, self.output = transformer, output

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None) -> Tensor:
        """(B, T) int64 each."""
        types = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        return getattr(self.transformer(input_ids=input_ids, attention_mask=attention_mask, **types), self.output)


def convert(kind: str, out: Path, folder: Path, adapter: Path | None = None) -> None:
    """Write a model's network to `out`, in fp32. Raises ValueError if its outputs are not those of torch."""
    import openvino

    module, inputs = _module(kind, folder, adapter)
    small, large = (_example(lengths, inputs) for lengths in EXAMPLE)
    with torch.inference_mode():
        example = tuple(small.values())
        traced = torch.jit.trace(module, example, strict=False, check_trace=False)  # `_check` does, and with another batch
        network = openvino.convert_model(traced, example_input=example)
        expected = module(**large).numpy()
    for port, name in zip(network.inputs, inputs, strict=True):
        port.get_tensor().set_names({name})
    network.reshape({port: openvino.PartialShape([-1, -1]) for port in network.inputs})
    try:
        openvino.save_model(network, out, compress_to_fp16=False)
    except RuntimeError as error:  # it gives no reason
        raise OSError("the network cannot be written: perhaps the disk is full") from error
    _check(out, kind, large, expected)


def _check(out: Path, kind: str, batch: dict[str, Tensor], expected: np.ndarray) -> None:
    """Raise ValueError if the written network's outputs for a batch are not the expected ones."""
    import openvino

    options = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(out, "CPU", options)
    actual = compiled({name: value.numpy() for name, value in batch.items()})[0]
    real = batch["attention_mask"].numpy().astype(bool) if kind == "encoder" else slice(None)  # padding may differ
    difference = float(np.abs(actual[real] - expected[real]).max())
    if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max())):
        raise ValueError(f"the converted model differs from the original by {difference:.2g}")


def _module(kind: str, folder: Path, adapter: Path | None) -> tuple[Outputs, list[str]]:
    """Return (the transformer in fp32, the names of its inputs)."""
    hardware = choose_hardware("cpu", "fp32")
    inputs = ["input_ids", "attention_mask"]
    if kind != "cross-encoder" and folder == bundled_folder():
        return Outputs(bundled_encoder(folder, hardware, "").transformer, "last_hidden_state"), inputs
    if kind != "cross-encoder":
        return Outputs(Encoder.from_folder(folder, hardware).transformer, "last_hidden_state"), inputs
    cross = CrossEncoder.from_adapter(folder, adapter, hardware) if adapter else CrossEncoder.from_folder(folder, hardware)
    return Outputs(cross.model, "logits"), [*inputs, *({"token_type_ids"} & set(cross.tokenizer.model_input_names))]


def _example(lengths: tuple[int, ...], inputs: list[str]) -> dict[str, Tensor]:
    """A batch of these lengths, padded. Token ids from 5 on: words or pieces in every vocabulary."""
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.arange(5, 5 + mask.numel()).view(mask.shape) * mask
    return {name: {"input_ids": ids, "attention_mask": mask}.get(name, torch.zeros_like(mask)) for name in inputs}


def _end_with_parent() -> None:
    """Whoever asked for the network holds the other end of stdin: killed, it leaves nothing that computes on."""
    os.read(0, 1)
    os._exit(1)


def main(kind: str, out: str, *folders: str) -> int:
    if hasattr(os, "nice"):
        os.nice(NICE)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        convert(kind, Path(out), *map(Path, folders))
    except Exception as error:  # a model can fail in as many ways as there are models: the caller continues with torch
        sys.stderr.write(f"\n{type(error).__name__}: {' '.join(str(error).split())[:300]}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
