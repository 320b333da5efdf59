"""Which engine is how fast here, alone and beside other programs, and does any of them cost quality?

`SENTENCES=1000 python -m tests.benchmarks engines` measures on fewer sentences, for a slow machine.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files.finding import bundled_folder
from tests.benchmarks import data, models, quality, speed
from tests.benchmarks.contention import beside_others
from tests.benchmarks.driven_plainly import has_onnx_runtime, onnx_runtime, openvino_plainly
from tests.benchmarks.timing import alternate, seconds_of

COUNT = int(os.environ.get("SENTENCES", "10000"))
LENGTHS = {12: (10, 14), 25: (22, 28)}  # tokens of a sentence, special tokens included
POOL = 25  # sentences to draw one of them from
PAIRS, DISTURBED = COUNT // 5, COUNT // 5
WARM_UP = 64
BATCHES, SWEPT = (16, 32, 64, 128), COUNT // 10
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
OPENVINO, TORCH = "this app on OpenVINO", "this app on torch"
DEFAULTS, BEST = "sentence-transformers, defaults", "sentence-transformers, best of a sweep"
PLAIN, ONNX = "OpenVINO driven plainly", "ONNX Runtime, fp32"

Encode = Callable[[Sequence[str]], Any]


def hardwares() -> dict[str, Hardware]:
    """This machine's CPU by precision: its own first, then fp32."""
    chosen = choose_hardware("cpu")
    return {hardware.precision: hardware for hardware in (chosen, replace(chosen, dtype=torch.float32))}


def encoders() -> dict[str, Encoder]:
    """This app's encoder by engine and precision; on OpenVINO only where the app would use it."""
    sides: dict[str, Encoder] = {}
    for precision, hardware in hardwares().items():
        encoder = models.encoder(hardware)
        if encoder.engine is not encoder.torch_engine:
            sides[f"{OPENVINO}, {precision}"] = encoder
        sides[f"{TORCH}, {precision}"] = encoder.on(encoder.torch_engine)
    return sides


def others(sample: Sequence[str]) -> tuple[dict[str, Encode], str]:
    """Return (what else encodes sentences here, the best setting of sentence-transformers)."""
    best, setting = _best(sample)
    sides: dict[str, Encode] = {DEFAULTS: SentenceTransformer(str(bundled_folder()), device="cpu").encode, BEST: best}
    if find_spec("openvino"):
        sides[PLAIN] = openvino_plainly({})
        if len(hardwares()) > 1:
            sides[f"{PLAIN}, fp32 forced"] = openvino_plainly({"INFERENCE_PRECISION_HINT": "f32"})
    if has_onnx_runtime():
        sides[ONNX] = onnx_runtime()
    return sides, setting


def _best(sample: Sequence[str]) -> tuple[Encode, str]:
    """sentence-transformers in the type and with the batch that encode the sample fastest; the second run of each counts."""
    seconds: dict[tuple[str, int], float] = {}
    theirs = {
        name: SentenceTransformer(str(bundled_folder()), device="cpu", model_kwargs={"dtype": TYPES[name]}) for name in hardwares()
    }
    for name, model in theirs.items():
        for batch in BATCHES:
            model.encode(sample, batch_size=batch)
            seconds[name, batch] = seconds_of(lambda m=model, b=batch: m.encode(sample, batch_size=b))
    name, batch = min(seconds, key=lambda setting: seconds[setting])
    return lambda sentences: theirs[name].encode(sentences, batch_size=batch), f"{name}, batch {batch}"


def texts(encoder: Encoder) -> dict[int, list[str]]:
    """COUNT real sentences of each length."""
    pool = data.many_sentences(POOL * COUNT)
    lengths = np.array([len(ids) for ids in encoder.tokenize(pool)])
    rows = {tokens: np.flatnonzero((lengths >= low) & (lengths <= high)) for tokens, (low, high) in LENGTHS.items()}
    return {tokens: [pool[i] for i in rows[tokens][:COUNT]] for tokens in LENGTHS}


def encoding(ours: dict[str, Encoder], sentences: dict[int, list[str]]) -> dict[str, Any]:
    """Sentences/s by length and side, tokenising included; of the matrix product's rate in its precision the share."""
    plain, setting = others(next(iter(sentences.values()))[:SWEPT])
    sides: dict[str, Encode] = {name: encoder.encode for name, encoder in ours.items()} | plain
    by_precision = {encoder.hardware.precision: speed.gemm_rate(encoder) for encoder in _one_each(ours)}
    ceilings = {name: by_precision[encoder.hardware.precision] for name, encoder in ours.items()}
    results: dict[str, Any] = {"best_setting": setting, "gemm_gflops": {name: rate / 1e9 for name, rate in by_precision.items()}}
    for tokens, rows in sentences.items():
        for encode in sides.values():
            encode(rows[:WARM_UP])
        seconds = alternate({name: lambda e=encode, r=rows: e(r) for name, encode in sides.items()})
        operations = speed.operations(next(iter(ours.values())), rows)
        app = next(iter(ours))
        results[f"{tokens} tokens"] = {
            "sentences": len(rows),
            "sentences_per_second": {name: len(rows) / taken for name, taken in seconds.items()},
            "share_of_matrix_product": {name: operations / seconds[name] / ceilings[name] for name in ours},
            "times": {name: taken / seconds[app] for name, taken in seconds.items()},  # that the app's own engine is as fast
        }
    return results


def _one_each(ours: dict[str, Encoder]) -> list[Encoder]:
    """One encoder of each precision."""
    return list({encoder.hardware.precision: encoder for encoder in ours.values()}.values())


def cross_encoder() -> dict[str, Any]:
    """Pairs/s of the bundled cross-encoder by engine and precision."""
    sentences = data.many_sentences(2 * PAIRS)
    pairs = list(zip(sentences[:PAIRS], sentences[PAIRS:], strict=True))
    sides = {}
    for precision, hardware in hardwares().items():
        cross = models.cross_encoder(hardware)
        for name, model in ((OPENVINO, cross), (TORCH, cross.on(cross.torch_engine))):
            if name == TORCH or cross.engine is not cross.torch_engine:
                model.score(pairs[:64])
                sides[f"{name}, {precision}"] = lambda m=model: m.score(pairs)
    seconds = alternate(sides)
    app = next(iter(sides))
    return {
        "pairs_per_second": {name: PAIRS / taken for name, taken in seconds.items()},
        "times": {name: taken / seconds[app] for name, taken in seconds.items()},
    }


def report() -> dict[str, object]:
    ours = encoders()
    sentences = texts(next(iter(ours.values())))
    return {
        "encoding": encoding(ours, sentences),
        "contention": beside_others(ours, sentences[12][:DISTURBED]),
        "cross_encoder": cross_encoder(),
        "extrapolation": speed.extrapolation(),
        "quality": quality.by_engine(ours),
    }
