"""The bundled encoder on other people's engines as their first example shows it: batches of 32 in input order, no options."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from sbert_app.models.engine.forward import Features
from sbert_app.models.networks import Outputs
from sbert_app.vectors import Vectors
from tests.benchmarks import models

BATCH = 32
EXPORTED = models.HOME.parent / "encoder.onnx"
INPUTS = ["input_ids", "attention_mask"]

Encode = Callable[[Sequence[str]], Vectors]


def openvino_plainly(options: dict[str, str]) -> Encode:
    """OpenVINO over the network file that this app runs too."""
    import openvino

    compiled = openvino.Core().compile_model(models.encoder_network(), "CPU", options)
    return _loop(lambda features: compiled(features)[0])


def has_onnx_runtime() -> bool:
    """Whether it is installed, with the package `onnx` that torch exports with, or a network that was exported before."""
    return find_spec("onnxruntime") is not None and (EXPORTED.exists() or find_spec("onnx") is not None)


def onnx_runtime() -> Encode:
    """ONNX Runtime on the CPU, in fp32, over a network that torch exported."""
    import onnxruntime

    if not EXPORTED.exists():
        _export()
    session = onnxruntime.InferenceSession(EXPORTED, providers=["CPUExecutionProvider"])
    return _loop(lambda features: session.run(None, features)[0])


def _export() -> None:
    module = Outputs(models.on_torch("fp32").transformer, "last_hidden_state")
    ids = torch.arange(5, 19).view(2, 7)
    axes = {name: {0: "batch", 1: "tokens"} for name in (*INPUTS, "tokens")}
    with torch.inference_mode():
        torch.onnx.export(
            module,
            (ids, torch.ones_like(ids)),
            EXPORTED,
            input_names=INPUTS,
            output_names=["tokens"],
            dynamic_axes=axes,
            dynamo=False,
        )


def _loop(run: Callable[[Any], Vectors]) -> Encode:
    """run: ids and mask as arrays, (B, T) -> token vectors, (B, T, dim)."""
    encoder = models.on_torch("fp32")

    def encode(sentences: Sequence[str]) -> Vectors:
        parts = []
        for start in range(0, len(sentences), BATCH):
            features = encoder.pad(encoder.tokenize(sentences[start : start + BATCH]))
            parts.append(_pooled(run({name: value.numpy() for name, value in features.items()}), features))
        return np.concatenate(parts)

    return encode


def _pooled(tokens: Vectors, features: Features) -> Vectors:
    """The mean over real tokens, of length 1: (B, T, dim) -> (B, dim)."""
    mask = features["attention_mask"].numpy()[:, :, None].astype(np.float32)
    means = (tokens * mask).sum(1) / mask.sum(1)
    vectors: Vectors = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors
