"""Is training right and fast? STSb with both objectives, the pooling ablation of Table 6, and sentence-transformers' trainer."""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from sbert_app.evaluation.verdict import primary_metric
from sbert_app.labelled.examples import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.training.crossing import build_trainee
from sbert_app.training.options import ObjectiveOptions, TrainingOptions
from sbert_app.training.siamese import finish
from sbert_app.training.trainee import Evaluation, Trainee
from sbert_app.training.trainer import Trainer
from tests.benchmarks import data
from tests.benchmarks.models import on_torch
from tests.benchmarks.timing import in_turns
from tests.benchmarks.trainers import train_ours, train_theirs

HARDWARE = choose_hardware()
SEEDS = (0, 1, 2)
REGRESSION = TrainingOptions(epochs=4, batch_size=16, learning_rate=2e-5)
COSENT = TrainingOptions(epochs=3, batch_size=32, learning_rate=5e-5)
SPEED_PAIRS = 2_000
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


def score(encoder: Any, test: Examples) -> float:
    """Spearman × 100 of the cosine."""
    return 100 * primary_metric("scored", [encoder.encode(column) for column in test.sentences], test.gold)


def stsb() -> dict[str, dict[str, object]]:
    """Test Spearman ×100 of each seed, minutes and pairs/s, by objective. Dev chooses the checkpoint."""
    *parts, test = (data.scored(f"stsb/{part}") for part in ("train", "dev", "test"))
    results: dict[str, dict[str, object]] = {}
    for objective, options in (("regression", REGRESSION), ("cosent", COSENT)):
        scores, devs, minutes = [], [], []
        for seed in SEEDS:
            start = time.perf_counter()
            encoder, dev = train(objective, replace(options, seed=seed), *parts)
            minutes.append((time.perf_counter() - start) / 60)
            scores.append(score(encoder, test))
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
    parts = data.scored("stsb/train"), data.scored("stsb/dev")
    options = replace(REGRESSION, epochs=2)
    return {pooling: 100 * train("regression", options, *parts, pooled(pooling))[1] for pooling in ("mean", "max", "cls")}


def speed() -> dict[str, object]:
    """Pairs/s and dev Spearman beside sentence-transformers' trainer: same pairs, batch, epochs, rate and warm-up; alternating."""
    whole, dev = data.scored("stsb/train"), data.scored("stsb/dev")
    sample = whole.take(np.random.default_rng(0).permutation(len(whole))[:SPEED_PAIRS])
    sides: dict[str, Callable[[], tuple[Any, float]]] = {
        "sbert_studio": lambda: (ours := on_torch("fp32"), train_ours(ours, sample, SPEED, HARDWARE)),
        "sentence_transformers": lambda: (
            theirs := SentenceTransformer(str(bundled_folder()), device="cpu"),
            train_theirs(theirs, sample, SPEED),
        ),
    }
    rounds = in_turns(sides)
    rates = {name: [SPEED_PAIRS * SPEED.epochs / seconds for _, seconds in results] for name, results in rounds.items()}
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["sbert_studio"] / medians["sentence_transformers"]
    scores = {name: score(results[-1][0], dev) for name, results in rounds.items()}
    return {"pairs_per_second": rates, "medians": medians, "ratio": ratio, "dev_spearman_x100": scores}


def report() -> dict[str, object]:
    return {"stsb": stsb(), "table_6_pooling_dev_x100": poolings()}
