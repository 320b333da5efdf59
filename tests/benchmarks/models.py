"""The bundled models on the engine that the app uses on this machine, converted once into .bench/openvino.

And the encoder on other people's engines as their first example shows it: batches of 32 in input order, no options.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import numpy as np
import torch

from sbert_app.models.acceleration import Acceleration
from sbert_app.models.bundled import bundled_cross_encoder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import Features
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files.finding import CROSS_ENCODER, checked_bundled_folder
from sbert_app.models.networks import Outputs, network
from sbert_app.vectors import Vectors, unit_rows

HOME = Path(".bench") / "openvino"
BATCH = 32
EXPORTED = HOME.parent / "encoder.onnx"
INPUTS = ["input_ids", "attention_mask"]

Model = TypeVar("Model", Encoder, CrossEncoder)
Encode = Callable[[Sequence[str]], Vectors]


def on_torch(precision: str = "auto") -> Encoder:
    """The bundled encoder without another engine."""
    return Encoder.from_folder(checked_bundled_folder(), choose_hardware(precision=precision))


def encoder(hardware: Hardware) -> Encoder:
    folder = checked_bundled_folder()
    return accelerated(Encoder.from_folder(folder, hardware), folder)


def cross_encoder(hardware: Hardware) -> CrossEncoder:
    return accelerated(bundled_cross_encoder(CROSS_ENCODER, hardware, ""), checked_bundled_folder(), CROSS_ENCODER)


def accelerated(model: Model, *folders: Path, home: Path = HOME) -> Model:
    """The model, loaded from `folders`, once it has its engine. It stays on torch where the app would leave it there."""
    acceleration = Acceleration(home, model.hardware, patience=0)
    acceleration.begin(model, folders)
    acceleration.wait()
    if model.engine_note:
        print(f"  {model.engine_note}", flush=True)
    return model


def openvino_plainly(options: dict[str, str]) -> Encode:
    """OpenVINO over the network file that this app runs too."""
    import openvino

    path = network("encoder", (checked_bundled_folder(),), HOME, Event())
    compiled = openvino.Core().compile_model(path, "CPU", options)
    return _loop(lambda features: compiled(features | {"position_ids": np.arange(features["input_ids"].shape[1])[None]})[0])


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
    module = Outputs(on_torch("fp32").transformer, "last_hidden_state", INPUTS)
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
    encoder = on_torch("fp32")

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
    return unit_rows((tokens * mask).sum(1) / mask.sum(1))
