"""Is it right? STS and SICK-R against sentence-transformers, in fp32 and bf16; SciFact re-ranked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer

from sbert_app.evaluation.agreement import spearman
from sbert_app.grid import ranking
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, bundled_folder
from sbert_app.models.registry import Registry
from sbert_app.settings import Settings
from sbert_app.vectors import unit_rows
from tests.benchmarks import data
from tests.benchmarks.models import on_torch

ODD = ["", " ", "😀", "🧑‍💻 emoji in a sentence 🎉", "مرحبا بالعالم", "word " * 5_000, "x" * 100_000, "[SEP] [CLS]", "null", "NaN"]
SENTENCES = 2_000

Encode = Callable[[Sequence[str]], np.ndarray]


def report() -> dict[str, object]:
    oracle = SentenceTransformer(str(bundled_folder()), device="cpu").encode
    ours = {precision: on_torch(precision).encode for precision in ("fp32", "bf16")}
    return {
        "interop": interop(ours, oracle),
        "spearman_x100": sts(ours | {"sentence-transformers fp32": oracle})["spearman_x100"],
        "cross_encoder_stsb_test_x100": cross_encoder(),
    }


def interop(ours: Mapping[str, Encode], oracle: Encode) -> dict[str, float]:
    """Embeddings beside sentence-transformers': largest difference in fp32, smallest cosine in bf16."""
    sentences = [*ODD, *data.many_sentences(SENTENCES - len(ODD))]
    theirs = oracle(sentences)
    return {
        "sentences": len(sentences),
        "fp32_max_abs_difference": float(np.abs(ours["fp32"](sentences) - theirs).max()),
        "bf16_min_cosine": float(np.einsum("nd,nd->n", unit_rows(ours["bf16"](sentences)), unit_rows(theirs)).min()),
    }


def sts(systems: Mapping[str, Encode]) -> dict[str, Any]:
    """Spearman ×100 by set and system, all pairs of a year together; the smallest cosine of each to the embeddings of the last."""
    scores: dict[str, dict[str, float]] = {}
    smallest = dict.fromkeys(systems, 1.0)
    for name in data.STS:
        first, second, gold = data.pairs(name)
        embeddings = {system: unit_rows(encode([*first, *second])) for system, encode in systems.items()}
        reference = list(embeddings.values())[-1]
        for system, rows in embeddings.items():
            cosines = np.einsum("nd,nd->n", rows[: len(first)], rows[len(first) :])
            scores.setdefault(name, {})[system] = 100 * spearman(cosines, gold)
            smallest[system] = min(smallest[system], float(np.einsum("nd,nd->n", rows, reference).min()))
    return {"spearman_x100": scores, "smallest_cosine": smallest, "to": list(systems)[-1]}


def reranked(claims: int = 100) -> dict[str, object]:
    """nDCG@10 over the first claims, before and after the cross-encoder read the best 30 of each. Takes minutes."""
    whole, encoder = data.scifact(), on_torch()
    task = replace(whole, queries=whole.queries[:claims], relevant=whole.relevant[:claims])
    dense = ranking.by_vectors(task, encoder.encode(task.queries), encoder.encode(task.documents), lambda: None)
    read = ranking.reranked(task, dense, Registry(Settings(Path())).cross_encoder(DEFAULT_CROSS_ENCODER).score)
    ways = {"dense": dense, "dense, re-ranked": read}
    return {"claims": claims} | {way: float(ranking.measures(task, rows)["ndcg_at_10"].mean()) for way, rows in ways.items()}


def cross_encoder() -> float:
    """STSb test, Spearman x100, of the bundled one."""
    first, second, gold = data.pairs("stsb/test")
    cross = Registry(Settings(Path())).cross_encoder(DEFAULT_CROSS_ENCODER)
    return 100 * spearman(cross.score(list(zip(first, second, strict=True))), gold)
