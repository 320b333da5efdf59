"""Which engine is how fast here, alone and beside other programs, and does any of them cost quality?

`SENTENCES=1000 python -m tests.benchmarks engines` measures on fewer sentences, for a slow machine.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from sentence_transformers import CrossEncoder as TheirCrossEncoder
from sentence_transformers import SentenceTransformer

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files.finding import CROSS_ENCODER, bundled_folder
from sbert_app.timing.extrapolation import pairs_of
from tests.benchmarks import data, models, quality
from tests.benchmarks.timing import alternate, fastest, in_turns, milliseconds, seconds_of

COUNT = int(os.environ.get("SENTENCES", "10000"))
LENGTHS = {12: (10, 14), 25: (22, 28)}  # tokens of a sentence, special tokens included
POOL = 25  # sentences to draw one of them from
PAIRS, DISTURBED = COUNT // 5, COUNT // 5
WARM_UP = 64
BATCHES, SWEPT = (16, 32, 64, 128), COUNT // 10
OTHERS = (0, 1, 2)  # processes that compute without pause, on every machine alike
QUERIES = 50  # a round
QUERY = "How do I change the address of my order?"  # ten tokens and the two special ones
TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
OPENVINO, TORCH = "this app on OpenVINO", "this app on torch"
DEFAULTS, BEST = "sentence-transformers, defaults", "sentence-transformers, best of a sweep"
PLAIN, ONNX = "OpenVINO driven plainly", "ONNX Runtime, fp32"


def hardwares() -> dict[str, Hardware]:
    """This machine's CPU by precision: its own first, then fp32."""
    chosen = choose_hardware("cpu")
    return {hardware.precision: hardware for hardware in (chosen, replace(chosen, dtype=torch.float32))}


def by_engine(load: Callable[[Hardware], models.Model]) -> dict[str, models.Model]:
    """A model of this app by engine and precision; on OpenVINO only where the app would use it."""
    sides = {}
    for precision, hardware in hardwares().items():
        model = load(hardware)
        if model.engine is not model.torch_engine:
            sides[f"{OPENVINO}, {precision}"] = model
        sides[f"{TORCH}, {precision}"] = model.on(model.torch_engine)
    return sides


def theirs(load: Callable[..., Any], run: str, sample: Sequence[Any]) -> tuple[dict[str, Callable[..., Any]], str]:
    """(sentence-transformers at its defaults, and in the type and with the batch that do the sample fastest; which these are).

    load: makes a model of a type; run: its method.
    """
    works = {name: getattr(load(model_kwargs={"dtype": TYPES[name]}), run) for name in hardwares()}
    name, batch = fastest(product(works, BATCHES), lambda setting: works[setting[0]](sample, batch_size=setting[1]))
    return {DEFAULTS: getattr(load(), run), BEST: partial(works[name], batch_size=batch)}, f"{name}, batch {batch}"


def driven_plainly() -> dict[str, models.Encode]:
    """What else encodes sentences here."""
    sides = {}
    if find_spec("openvino"):
        sides[PLAIN] = models.openvino_plainly({})
        if len(hardwares()) > 1:
            sides[f"{PLAIN}, fp32 forced"] = models.openvino_plainly({"INFERENCE_PRECISION_HINT": "f32"})
    if models.has_onnx_runtime():
        sides[ONNX] = models.onnx_runtime()
    return sides


def texts(encoder: Encoder) -> dict[int, list[str]]:
    """COUNT real sentences of each length."""
    pool = data.many_sentences(POOL * COUNT)
    lengths = np.array([len(ids) for ids in encoder.tokenize(pool)])
    rows = {tokens: np.flatnonzero((lengths >= low) & (lengths <= high)) for tokens, (low, high) in LENGTHS.items()}
    return {tokens: [pool[i] for i in rows[tokens][:COUNT]] for tokens in LENGTHS}


def taken(sides: Mapping[str, Callable[[Any], Any]], items: Sequence[Any]) -> dict[str, float]:
    """Median seconds of each side for all items, warm."""
    for work in sides.values():
        work(items[:WARM_UP])
    return alternate({name: lambda work=work: work(items) for name, work in sides.items()})


def times(seconds: Mapping[str, float]) -> dict[str, float]:
    """How many times as long as the app's own engine, the first side, each takes."""
    return {name: value / next(iter(seconds.values())) for name, value in seconds.items()}


def encoding(ours: dict[str, Encoder], sentences: dict[int, list[str]]) -> dict[str, Any]:
    """Sentences/s by length and side, tokenising included; of the matrix product's rate in its precision the share."""
    load = partial(SentenceTransformer, str(bundled_folder()), device="cpu")
    beside, setting = theirs(load, "encode", next(iter(sentences.values()))[:SWEPT])
    sides: dict[str, models.Encode] = {name: encoder.encode for name, encoder in ours.items()} | beside | driven_plainly()
    one_each = {encoder.hardware.precision: encoder for encoder in ours.values()}
    by_precision = {precision: gemm_rate(encoder) for precision, encoder in one_each.items()}
    ceilings = {name: by_precision[encoder.hardware.precision] for name, encoder in ours.items()}
    results: dict[str, Any] = {"best_setting": setting, "gemm_gflops": {name: rate / 1e9 for name, rate in by_precision.items()}}
    for tokens, rows in sentences.items():
        seconds = taken(sides, rows)
        of_products = operations(next(iter(ours.values())), rows)
        results[f"{tokens} tokens"] = {
            "sentences": len(rows),
            "sentences_per_second": {name: len(rows) / value for name, value in seconds.items()},
            "share_of_matrix_product": {name: of_products / seconds[name] / ceilings[name] for name in ours},
            "times": times(seconds),
        }
    return results


def beside_others(ours: Mapping[str, Encoder], sentences: Sequence[str]) -> dict[str, Any]:
    """By side and number of other processes: sentences/s, the share of the undisturbed rate, milliseconds of one query."""
    sides = {(name, others): partial(disturbed, encoder, sentences, others) for others in OTHERS for name, encoder in ours.items()}
    results: dict[str, Any] = {name: {} for name in ours}
    for (name, others), rounds in in_turns(sides).items():
        rate = len(sentences) / median(seconds for seconds, _ in rounds)
        results[name][f"beside {others}"] = {
            "sentences_per_second": rate,
            "share_of_undisturbed": rate / results[name]["beside 0"]["sentences_per_second"] if others else 1.0,
            "query_milliseconds_p50_p99": np.percentile([value for _, queries in rounds for value in queries], (50, 99)).tolist(),
        }
    return results


def disturbed(encoder: Encoder, sentences: Sequence[str], others: int) -> tuple[float, list[float]]:
    """(seconds for the sentences, milliseconds of each query) beside so many other processes at full load."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
    try:
        encoder.encode([QUERY])
        queries = milliseconds(encoder.encode, [[QUERY]] * QUERIES)
        return seconds_of(lambda: encoder.encode(sentences)), queries
    finally:
        for process in processes:
            process.kill()
            process.wait()


def cross_encoder() -> dict[str, Any]:
    """Pairs/s of the bundled cross-encoder by engine and precision, beside the same weights in sentence-transformers."""
    sentences = data.many_sentences(2 * PAIRS)
    pairs = list(zip(sentences[:PAIRS], sentences[PAIRS:], strict=True))
    with tempfile.TemporaryDirectory() as folder:
        CrossEncoder.from_adapter(bundled_folder(), CROSS_ENCODER, choose_hardware("cpu", "fp32")).save(Path(folder))
        beside, setting = theirs(partial(TheirCrossEncoder, folder, device="cpu"), "predict", pairs[:SWEPT])
    seconds = taken({name: cross.score for name, cross in by_engine(models.cross_encoder).items()} | beside, pairs)
    rates = {name: PAIRS / value for name, value in seconds.items()}
    hours = pairs_of(10_000) / next(iter(rates.values())) / 3600
    return {"pairs_per_second": rates, "best_setting": setting, "times": times(seconds), "hours_for_10000_sentences": hours}


def gemm_rate(encoder: Encoder) -> float:
    """Operations/s of torch's plain matrix product of the encoder's widest layer, in its precision: the machine's ceiling."""
    config, device, dtype = encoder.transformer.config, encoder.hardware.device, encoder.hardware.dtype
    rows = encoder.torch_engine._tokens
    first = torch.randn(rows, config.hidden_size, device=device, dtype=dtype)
    second = torch.randn(config.intermediate_size, config.hidden_size, device=device, dtype=dtype)

    def products() -> None:
        for _ in range(100):
            torch.nn.functional.linear(first, second)

    products()
    seconds = alternate({"matrix product": products})["matrix product"]
    return 100 * 2 * rows * config.hidden_size * config.intermediate_size / seconds


def operations(encoder: Encoder, sentences: Sequence[str]) -> float:
    """Multiplications and additions of all layers' matrix products over the real tokens, padding not counted."""
    config = encoder.transformer.config
    lengths = np.array([len(ids) for ids in encoder.tokenize(sentences)], dtype=np.float64)
    weights = 4 * config.hidden_size**2 + 2 * config.hidden_size * config.intermediate_size
    attention = 2 * config.hidden_size * (lengths**2).sum()
    return float(2 * config.num_hidden_layers * (weights * lengths.sum() + attention))


def report() -> dict[str, object]:
    ours = by_engine(models.encoder)
    sentences = texts(next(iter(ours.values())))
    return {
        "encoding": encoding(ours, sentences),
        "contention": beside_others(ours, sentences[12][:DISTURBED]),
        "cross_encoder": cross_encoder(),
        "quality": quality.sts({name: encoder.encode for name, encoder in ours.items()}),
    }
