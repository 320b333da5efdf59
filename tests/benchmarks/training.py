"""Is training right and fast? STSb with both objectives, the pooling ablation of Table 6, and sentence-transformers' trainer."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from sbert_app.evaluation.agreement import spearman
from sbert_app.evaluation.verdict import predict
from sbert_app.labelled.examples import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.training.crossing import build_trainee
from sbert_app.training.options import ObjectiveOptions, TrainingOptions
from sbert_app.training.siamese import finish
from sbert_app.training.trainee import Evaluation, Trainee
from sbert_app.training.trainer import Trainer
from sbert_app.vectors import Vectors
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.trainers import train_ours, train_theirs

HARDWARE = choose_hardware()
SEEDS = (0, 1, 2)
REGRESSION = TrainingOptions(epochs=4, batch_size=16, learning_rate=2e-5)
COSENT = TrainingOptions(epochs=3, batch_size=32, learning_rate=5e-5)
SPEED_PAIRS, SPEED_ROUNDS = 2_000, 3
SPEED = TrainingOptions(epochs=1, batch_size=16, learning_rate=2e-5)


def fit(trainee: Trainee, options: TrainingOptions, last: bool = False) -> float:
    """Train; put the weights of the best dev score back, unless the last are wanted. Returns that score."""
    trainer, start = Trainer(trainee, options, HARDWARE), time.perf_counter()
    best = trainer.weights()
    for event in trainer.run():
        if isinstance(event, Evaluation):
            seconds = time.perf_counter() - start
            print(f"  step {event.step} of {trainer.steps}, dev {100 * event.score:.2f}, {seconds:.0f} s", flush=True)
            best = trainer.weights() if event.best else best
    if not last:
        trainer.load_weights(best)
    return trainer.best


def train(
    objective: str,
    options: TrainingOptions,
    examples: Examples,
    dev: Examples,
    encoder: Encoder | None = None,
    head: ObjectiveOptions | None = None,
    last: bool = False,
) -> tuple[Encoder, float]:
    """(encoder with the weights of the best dev score, or with the last; that score). encoder: other than the bundled one."""
    encoder = encoder or on_torch("fp32")
    torch.manual_seed(options.seed)
    siamese = build_trainee(encoder, objective, head or ObjectiveOptions(), examples, dev)
    best = fit(siamese, options, last)
    finish(siamese)
    return encoder, best


def pooled(pooling: str, normalize: bool = True) -> Encoder:
    """The bundled encoder in fp32 with another pooling; normalize: make embeddings of length 1 as the last step."""
    encoder = on_torch("fp32")
    encoder.layout = replace(encoder.layout, pooling=pooling, normalize=normalize)
    return encoder


def score(embedded: Sequence[Vectors], test: Examples) -> float:
    """Spearman × 100 of the cosine. embedded: the test pairs' columns, (n, dim) each."""
    return 100 * spearman(predict("scored", embedded), test.gold)


def stsb() -> dict[str, dict[str, object]]:
    """Test Spearman ×100 of each seed, minutes and pairs/s, by objective. Dev chooses the checkpoint."""
    parts = data.stsb("train"), data.stsb("dev")
    test = data.stsb("test")
    results: dict[str, dict[str, object]] = {}
    for objective, options in (("regression", REGRESSION), ("cosent", COSENT)):
        scores, devs, minutes = [], [], []
        for seed in SEEDS:
            start = time.perf_counter()
            encoder, dev = train(objective, replace(options, seed=seed), *parts)
            minutes.append((time.perf_counter() - start) / 60)
            scores.append(score([encoder.encode(column) for column in test.sentences], test))
            devs.append(100 * dev)
            print(objective, seed, scores[-1], devs[-1], minutes[-1], flush=True)
        rate = len(parts[0]) * options.epochs / (60 * statistics.mean(minutes))
        results[objective] = {
            "test_spearman_x100": scores,
            "mean": statistics.mean(scores),
            "standard_deviation": statistics.stdev(scores),
            "dev_spearman_x100": devs,
            "minutes": statistics.mean(minutes),
            "pairs_per_second_with_evaluations": rate,
        }
    return results


def poolings() -> dict[str, float]:
    """Table 6: STSb dev, regression objective, by pooling. The base was pre-trained with mean pooling; the paper's was not."""
    parts = data.stsb("train"), data.stsb("dev")
    options = replace(REGRESSION, epochs=2)
    return {pooling: 100 * train("regression", options, *parts, pooled(pooling))[1] for pooling in ("mean", "max", "cls")}


def speed() -> dict[str, object]:
    """Pairs/s and dev Spearman beside sentence-transformers' trainer: same pairs, batch, epochs, rate and warm-up; alternating."""
    whole, dev = data.stsb("train"), data.stsb("dev")
    sample = whole.take(np.random.default_rng(0).permutation(len(whole))[:SPEED_PAIRS])
    rates: dict[str, list[float]] = {"sbert_studio": [], "sentence_transformers": []}
    scores: dict[str, float] = {}
    for _ in range(SPEED_ROUNDS):
        ours, theirs = on_torch("fp32"), SentenceTransformer(str(bundled_folder()), device="cpu")
        taken = {
            "sbert_studio": (ours, train_ours(ours, sample, SPEED, HARDWARE)),
            "sentence_transformers": (theirs, train_theirs(theirs, sample, SPEED)),
        }
        for name, (model, seconds) in taken.items():
            rates[name].append(SPEED_PAIRS * SPEED.epochs / seconds)
            scores[name] = score([model.encode(column) for column in dev.sentences], dev)
            print(name, rates[name][-1], scores[name], flush=True)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["sbert_studio"] / medians["sentence_transformers"]
    return {"pairs_per_second": rates, "medians": medians, "ratio": ratio, "dev_spearman_x100": scores}


def report() -> dict[str, object]:
    return {"stsb": stsb(), "table_6_pooling_dev_x100": poolings()}
