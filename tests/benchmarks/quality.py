"""Is it right? STS and SICK-R against sentence-transformers, in fp32 and bf16; SciFact re-ranked; SentEval's protocol."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from threadpoolctl import threadpool_limits

from sbert_app.evaluation.agreement import spearman
from sbert_app.grid import ranking
from sbert_app.labelled.labelled_sentences import read_labelled_sentences
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, bundled_folder
from sbert_app.models.registry import Registry
from sbert_app.settings import Limits, Settings
from sbert_app.tables import read_table
from sbert_app.training.crossing import pairs_of
from sbert_app.training.transfer import learn
from sbert_app.vectors import Vectors, unit_rows
from tests.benchmarks import data
from tests.benchmarks.models import on_torch

ODD = ["", " ", "😀", "🧑‍💻 emoji in a sentence 🎉", "مرحبا بالعالم", "word " * 5_000, "x" * 100_000, "[SEP] [CLS]", "null", "NaN"]
SENTENCES = 2_000
STRENGTHS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]  # C, for features of variance 1

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
        pairs = data.scored(name)
        first, second = pairs.sentences
        embeddings = {system: unit_rows(encode(first + second)) for system, encode in systems.items()}
        reference = list(embeddings.values())[-1]
        for system, rows in embeddings.items():
            cosines = np.einsum("nd,nd->n", *np.split(rows, 2))
            scores.setdefault(name, {})[system] = 100 * spearman(cosines, pairs.gold)
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
    pairs = data.scored("stsb/test")
    cross = Registry(Settings(Path())).cross_encoder(DEFAULT_CROSS_ENCODER)
    return 100 * spearman(cross.score(pairs_of(pairs)), pairs.gold)


def nested_search(features: Vectors, targets: np.ndarray) -> list[float]:
    """The accuracy of each of ten folds: C chosen by ten folds of the rest, then learnt from all of the rest."""
    folds = StratifiedKFold(10, shuffle=True, random_state=1111)
    search = GridSearchCV(LogisticRegression(max_iter=1_000), {"C": STRENGTHS}, cv=folds)
    shares: list[float] = cross_val_score(search, features, targets, cv=folds).tolist()
    return shares


def transfer() -> dict[str, Any]:
    """Is SentEval's protocol right here? Customer reviews (CR) beside a nested search by scikit-learn alone, and the quick form.

    Accuracy × 100 by each way, their seconds, and the difference with its standard error over folds.
    """
    reviews = read_labelled_sentences(read_table(data.DATA / "senteval" / "cr.tsv.gz", Limits()), Limits())
    features = on_torch().encode(reviews.sentences)
    features *= np.float32(1 / features.std())
    with threadpool_limits(1):
        ways: dict[str, Callable[[], list[float]]] = {
            "protocol": lambda: learn(features, reviews).folds,
            "quick": lambda: learn(features, reviews, quick=True).folds,
            "scikit-learn": lambda: nested_search(features, reviews.targets),
        }
        folds, seconds = {}, {}
        for name, way in ways.items():
            start = time.perf_counter()
            folds[name] = way()
            seconds[name] = round(time.perf_counter() - start, 1)
    difference = 100 * (np.array(folds["protocol"]) - folds["scikit-learn"])
    return {
        "sentences": len(reviews.sentences),
        "accuracy": {name: round(100 * float(np.mean(shares)), 2) for name, shares in folds.items()},
        "difference": round(float(difference.mean()), 2),
        "standard_error": round(float(difference.std(ddof=1) / len(difference) ** 0.5), 2),
        "seconds": seconds,
    }
