"""Is training right and fast? STSb with both objectives, the pooling ablation of Table 6, and sentence-transformers' trainer."""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sbert_app.evaluation.agreement import spearman
from sbert_app.evaluation.verdict import predict
from sbert_app.labelled.examples import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import choose_hardware
from sbert_app.models.files.finding import bundled_folder
from sbert_app.training.objectives import build_objective
from sbert_app.training.options import ObjectiveOptions, TrainingOptions
from sbert_app.training.siamese import Siamese, finish
from sbert_app.training.trainee import Evaluation
from sbert_app.training.trainer import Trainer
from tests.benchmarks import data

HARDWARE = choose_hardware()
SEEDS = (0, 1, 2)
REGRESSION = TrainingOptions(epochs=4, batch_size=16, learning_rate=2e-5)
COSENT = TrainingOptions(epochs=3, batch_size=32, learning_rate=5e-5)
SPEED_PAIRS, SPEED_ROUNDS = 2_000, 3
SPEED = TrainingOptions(epochs=1, batch_size=16, learning_rate=2e-5)


def train(
    objective: str, options: TrainingOptions, train: Examples, dev: Examples, pooling: str = "mean"
) -> tuple[Encoder, float, float]:
    """(encoder with the weights of the best dev score, that score, seconds of everything but loading)."""
    encoder = Encoder.from_folder(bundled_folder(), replace(HARDWARE, dtype=torch.float32))
    encoder.layout = replace(encoder.layout, pooling=pooling)
    start = time.perf_counter()
    siamese = Siamese(encoder, build_objective(objective, encoder.dim, 0, ObjectiveOptions()), train, dev)
    trainer = Trainer(siamese, options, HARDWARE)
    best = trainer.weights()
    for event in trainer.run():
        if isinstance(event, Evaluation) and event.best:
            best = trainer.weights()
    seconds = time.perf_counter() - start
    trainer.load_weights(best)
    finish(siamese)
    return encoder, trainer.best, seconds


def stsb() -> dict[str, dict[str, object]]:
    """Test Spearman ×100 of each seed, minutes and pairs/s, by objective. Dev chooses the checkpoint."""
    parts = data.stsb("train"), data.stsb("dev")
    test = data.stsb("test")
    results: dict[str, dict[str, object]] = {}
    for objective, options in (("regression", REGRESSION), ("cosent", COSENT)):
        scores, devs, minutes = [], [], []
        for seed in SEEDS:
            encoder, dev, seconds = train(objective, replace(options, seed=seed), *parts)
            scores.append(100 * spearman(predict("scored", [encoder.encode(c) for c in test.sentences]), test.gold))
            devs.append(100 * dev)
            minutes.append(seconds / 60)
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
    return {pooling: 100 * train("regression", options, *parts, pooling=pooling)[1] for pooling in ("mean", "max", "cls")}


def speed() -> dict[str, object]:
    """Pairs/s and dev Spearman beside sentence-transformers' trainer: same pairs, batch, epochs, rate and warm-up; alternating."""
    whole, dev = data.stsb("train"), data.stsb("dev")
    sample = whole.take(np.random.default_rng(0).permutation(len(whole))[:SPEED_PAIRS])
    dev_small = dev.take(np.arange(len(dev)))
    sides: dict[str, Callable[[], tuple[float, float]]] = {
        "sbert_studio": lambda: _ours(sample, dev_small),
        "sentence_transformers": lambda: _theirs(sample, dev_small),
    }
    rates: dict[str, list[float]] = {name: [] for name in sides}
    scores: dict[str, float] = {}
    for _ in range(SPEED_ROUNDS):
        for name, side in sides.items():
            seconds, score = side()
            rates[name].append(SPEED_PAIRS * SPEED.epochs / seconds)
            scores[name] = 100 * score
            print(name, rates[name][-1], scores[name], flush=True)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["sbert_studio"] / medians["sentence_transformers"]
    return {"pairs_per_second": rates, "medians": medians, "ratio": ratio, "dev_spearman_x100": scores}


def _ours(sample: Examples, dev: Examples) -> tuple[float, float]:
    """(seconds of all steps, dev Spearman after the last)."""
    encoder = Encoder.from_folder(bundled_folder(), replace(HARDWARE, dtype=torch.float32))
    start = time.perf_counter()
    siamese = Siamese(encoder, build_objective("regression", encoder.dim, 0, ObjectiveOptions()), sample, dev)
    trainer = Trainer(siamese, SPEED, HARDWARE)
    seconds, score = time.perf_counter() - start, 0.0
    events = trainer.run()
    while True:
        start = time.perf_counter()
        event = next(events, None)
        if event is None:
            return seconds, score
        if isinstance(event, Evaluation):
            score = event.score
        elif trainer.evaluated == trainer.step or trainer.step not in trainer.evaluate_after:
            seconds += time.perf_counter() - start


def _theirs(sample: Examples, dev: Examples) -> tuple[float, float]:
    """The same with SentenceTransformerTrainer and CosineSimilarityLoss, at its defaults for everything else."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    model = SentenceTransformer(str(bundled_folder()), device="cpu")
    rows = {"sentence1": sample.sentences[0], "sentence2": sample.sentences[1], "score": sample.targets.astype(np.float32).tolist()}
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=str(Path(folder)),
            num_train_epochs=SPEED.epochs,
            per_device_train_batch_size=SPEED.batch_size,
            learning_rate=SPEED.learning_rate,
            warmup_ratio=SPEED.warmup,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=True,
            seed=SPEED.seed,
        )
        trainer = SentenceTransformerTrainer(
            model, arguments, train_dataset=Dataset.from_dict(rows), loss=CosineSimilarityLoss(model)
        )
        start = time.perf_counter()
        trainer.train()
        seconds = time.perf_counter() - start
    columns = [model.encode(column) for column in dev.sentences]
    return seconds, spearman(predict("scored", columns), dev.gold)


def report() -> dict[str, object]:
    return {"stsb": stsb(), "table_6_pooling_dev_x100": poolings()}
