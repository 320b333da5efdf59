"""How fast? Encoding, pairs and the race beside sentence-transformers at its defaults and at its best, on CPU or GPU.

Ratios of medians of alternating rounds; the machine's own ceiling, a plain matrix product in the same precision, beside them.
"""

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch
import transformers
from sentence_transformers import CrossEncoder as TheirCrossEncoder
from sentence_transformers import SentenceTransformer

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import CROSS_ENCODER, bundled_folder
from sbert_app.timing.race import Race, closest_pair
from sbert_app.timing.throughput import pairs_of
from sbert_app.vectors import unit_rows
from tests.benchmarks import data, models
from tests.benchmarks.timing import alternate, seconds_of

HARDWARE = choose_hardware()
FP32 = replace(HARDWARE, dtype=torch.float32)
CUDA = HARDWARE.device.type == "cuda"
FAST = torch.float16 if CUDA else torch.bfloat16  # what sentence-transformers is fastest in
BATCHES = (128, 256, 512, 1_024, 2_048) if CUDA else (16, 32, 64, 128)
COUNT, SWEPT, PAIRS = 10_000, 20_000 if CUDA else 2_000, 50_000 if CUDA else 2_000
RACE_SECONDS, FULL = 8, 200
SETS = 3


def encoding() -> dict[str, Any]:
    """10,000 real sentences: sentences/s, ratios, and the share of the ceiling that the encoder reaches."""
    sentences = data.many_sentences(max(COUNT, SWEPT))
    encoder = models.encoder(HARDWARE)
    plain, fast = _theirs(torch.float32), _theirs(FAST)
    for model in (encoder, plain, fast):
        model.encode(sentences[:256])
    batch = _best_batch(lambda size: fast.encode(sentences[:SWEPT], batch_size=size))
    sides = {
        "this app": lambda: encoder.encode(sentences[:COUNT]),
        "defaults": lambda: plain.encode(sentences[:COUNT]),
        "best": lambda: fast.encode(sentences[:COUNT], batch_size=batch),
    }
    rates = {name: COUNT / seconds for name, seconds in alternate(sides).items()}
    reached = rates["this app"] * operations(encoder, sentences[:COUNT]) / COUNT
    ceiling = gemm_rate(encoder)
    return {
        "sentences_per_second": rates,
        "best_setting": f"{FAST}, batch {batch}",
        "ratio_to_defaults": rates["this app"] / rates["defaults"],
        "ratio_to_best": rates["this app"] / rates["best"],
        "gemm_ceiling_gflops": ceiling / 1e9,
        "share_of_ceiling": reached / ceiling,
    }


def closest() -> list[dict[str, Any]]:
    """The most similar pair of 10,000 sentences, from strings to answer, against brute force over fp32 embeddings."""
    everything = data.many_sentences(SETS * COUNT)
    fast, exact = models.encoder(HARDWARE), Encoder.from_folder(bundled_folder(), FP32)
    fast.encode(everything[:256])
    results = []
    for start in range(0, len(everything), COUNT):
        sentences = everything[start : start + COUNT]
        found: list[Any] = []
        seconds = seconds_of(lambda s=sentences, f=found: f.append(closest_pair(unit_rows(fast.encode(s)))))
        embeddings = unit_rows(exact.encode(sentences))
        best = np.triu(embeddings @ embeddings.T, 1)
        pair = found[0]
        results.append(
            {
                "seconds": seconds,
                "same_pair": (pair.row1, pair.row2) == tuple(map(int, np.unravel_index(best.argmax(), best.shape))),
                "score": pair.score,
                "fp32_score_of_the_pair": float(best[pair.row1, pair.row2]),
                "fp32_best_score": float(best.max()),
                "all_pairs_step_ratio_to_faiss_knn": _step_ratio(embeddings),
            }
        )
        print(results[-1], flush=True)
    return results


def cross_encoder() -> dict[str, Any]:
    """Pairs/s of the bundled cross-encoder on real pairs, beside the same weights in sentence-transformers' CrossEncoder."""
    sentences = data.many_sentences(2 * PAIRS)
    pairs = list(zip(sentences[:PAIRS], sentences[PAIRS:], strict=True))
    ours = models.cross_encoder(HARDWARE)
    with tempfile.TemporaryDirectory() as folder:
        CrossEncoder.from_adapter(bundled_folder(), CROSS_ENCODER, FP32).save(Path(folder))
        plain = TheirCrossEncoder(folder, device=HARDWARE.device.type)
        fast = TheirCrossEncoder(folder, device=HARDWARE.device.type, model_kwargs={"dtype": FAST})
    for warm in (ours.score, plain.predict, fast.predict):
        warm(pairs[:64])
    batch = _best_batch(lambda size: fast.predict(pairs[: PAIRS // 2], batch_size=size))
    sides = {
        "this app": lambda: ours.score(pairs),
        "defaults": lambda: plain.predict(pairs),
        "best": lambda: fast.predict(pairs, batch_size=batch),
    }
    rates = {name: PAIRS / seconds for name, seconds in alternate(sides).items()}
    return {
        "pairs_per_second": rates,
        "best_setting": f"{FAST}, batch {batch}",
        "ratio_to_defaults": rates["this app"] / rates["defaults"],
        "ratio_to_best": rates["this app"] / rates["best"],
        "hours_for_10000_sentences": pairs_of(10_000) / rates["this app"] / 3600,
    }


def extrapolation() -> list[dict[str, float]]:
    """Predicted against really measured seconds of all 19,900 pairs of 200 sentences, three times."""
    encoder, cross = models.encoder(HARDWARE), models.cross_encoder(HARDWARE)
    everything = data.many_sentences(SETS * FULL)
    results = []
    for start in range(0, len(everything), FULL):
        sentences = everything[start : start + FULL]
        race = Race(encoder, cross, sentences, nullcontext)
        for _ in race.warm_up():
            pass
        for _ in race.run(RACE_SECONDS):
            pass
        predicted = race.cross.throughput().seconds_for(pairs_of(FULL))
        measured = seconds_of(lambda s=sentences: cross.score(list(combinations(s, 2))))
        results.append({"predicted": predicted.seconds, "measured": measured, "error": predicted.seconds / measured - 1})
        print(results[-1], flush=True)
    return results


def papers_size() -> dict[str, float]:
    """BERT-base's shape with random weights, the size the paper timed: sentences/s, pairs/s and hours for 49,995,000 pairs."""
    count = 20_000 if CUDA else 300
    sentences = data.many_sentences(2 * count)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base, untrained, home = (Path(folder) / name for name in ("base", "cross", "openvino"))
        transformers.BertModel(transformers.BertConfig(vocab_size=30_522)).save_pretrained(base)
        transformers.AutoTokenizer.from_pretrained(bundled_folder()).save_pretrained(base)
        CrossEncoder.untrained(base, FP32, 1).save(untrained)
        encoder = models.accelerated(Encoder.from_folder(base, HARDWARE), base, home=home)
        cross = models.accelerated(CrossEncoder.from_folder(untrained, HARDWARE), untrained, home=home)
    pairs = list(zip(sentences[:count], sentences[count:], strict=True))
    encoder.encode(sentences[:64]), cross.score(pairs[:64])
    seconds = alternate({"sentences": lambda: encoder.encode(sentences[:count]), "pairs": lambda: cross.score(pairs)})
    rates = {f"{name}_per_second": count / taken for name, taken in seconds.items()}
    return {**rates, "hours_for_10000_sentences": pairs_of(10_000) / rates["pairs_per_second"] / 3600}


def gemm_rate(encoder: Encoder) -> float:
    """Operations/s of torch's plain matrix product of the encoder's widest layer, in its precision: the machine's ceiling."""
    config, device, dtype = encoder.transformer.config, encoder.hardware.device, encoder.hardware.dtype
    rows = encoder.hardware.token_budget
    first = torch.randn(rows, config.hidden_size, device=device, dtype=dtype)
    second = torch.randn(config.intermediate_size, config.hidden_size, device=device, dtype=dtype)

    def products() -> None:
        for _ in range(100):
            torch.nn.functional.linear(first, second)
        if CUDA:
            torch.cuda.synchronize()

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


def _theirs(dtype: torch.dtype) -> SentenceTransformer:
    return SentenceTransformer(str(bundled_folder()), device=HARDWARE.device.type, model_kwargs={"dtype": dtype})


def _best_batch(run: Any) -> int:
    """The batch size that is fastest, the second run of each counting."""
    seconds = {}
    for size in BATCHES:
        run(size)
        seconds[size] = seconds_of(lambda s=size: run(s))
    print(f"  sweep: {seconds}", flush=True)
    return min(seconds, key=lambda size: seconds[size])


def _step_ratio(embeddings: np.ndarray) -> float:
    """Times that FAISS's plain k-NN call over all rows takes as long as our all-pairs step."""
    sides = {
        "closest_pair": lambda: closest_pair(embeddings),
        "faiss.knn": lambda: faiss.knn(embeddings, embeddings, 2, metric=faiss.METRIC_INNER_PRODUCT),
    }
    seconds = alternate(sides)
    return seconds["faiss.knn"] / seconds["closest_pair"]


def report() -> dict[str, object]:
    return {
        "encoding": encoding(),
        "closest_pair_of_10000": closest(),
        "cross_encoder": cross_encoder(),
        "extrapolation": extrapolation(),
        "papers_size": papers_size(),
    }
