"""Seconds of training with cosine regression over the same pairs: by this app's trainer and by that of sentence-transformers.

Imports nothing that a bare GPU machine lacks, but for the package datasets, which their trainer wants.
"""

import tempfile
from typing import Any

import numpy as np

from sbert_app.labelled.example_set import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware
from sbert_app.training.objectives import Regression
from sbert_app.training.options import TrainingOptions
from sbert_app.training.siamese import Siamese, finish
from sbert_app.training.trainer import Trainer
from tests.benchmarks.timing import seconds_of


def train_ours(encoder: Encoder, pairs: Examples, options: TrainingOptions, hardware: Hardware) -> float:
    """Tokenising and all steps, without an evaluation. encoder: in fp32; `hardware` says whether steps are mixed with bf16."""

    def steps() -> None:
        siamese = Siamese(encoder, Regression(), pairs, pairs.take(np.arange(8)))
        trainer = Trainer(siamese, options, hardware)
        trainer.evaluate_after = set()
        for _ in trainer.run():
            pass
        finish(siamese)

    return seconds_of(steps)


def train_theirs(model: Any, pairs: Examples, options: TrainingOptions, bf16: bool = False) -> float:
    """The same with SentenceTransformerTrainer and CosineSimilarityLoss, at its defaults for everything else."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    first, second = pairs.sentences
    rows = {"sentence1": first, "sentence2": second, "score": pairs.targets.astype(np.float32).tolist()}
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            output_dir=folder,
            num_train_epochs=options.epochs,
            per_device_train_batch_size=options.batch_size,
            learning_rate=options.learning_rate,
            warmup_ratio=options.warmup,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=model.device.type == "cpu",
            bf16=bf16,
            seed=options.seed,
        )
        loss = CosineSimilarityLoss(model)
        trainer = SentenceTransformerTrainer(model, arguments, train_dataset=Dataset.from_dict(rows), loss=loss)
        return seconds_of(trainer.train)
