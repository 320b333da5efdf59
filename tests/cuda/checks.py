"""What must hold on a GPU, against the same weights in fp32 on the CPU. Each check returns its figures, and asserts."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import at_once, forward_batches
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.engine.packing import token_budget_batches
from sbert_app.training.crossing import build_trainee
from sbert_app.training.options import ObjectiveOptions, TrainingOptions
from sbert_app.training.siamese import Siamese
from sbert_app.training.trainee import BatchLoss
from sbert_app.training.trainer import Trainer
from tests.cuda.place import ADAPTER, CPU, DEVICE, DTYPES, examples, hardware, merge_adapter, model_folder, tickets

Figures = dict[str, float]

OBJECTIVES = {  # the kind of examples that each learns from
    "classification": "labelled",
    "regression": "scored",
    "triplet": "triplets",
    "cosent": "scored",
    "ranking": "positives",
}


@cache
def encoder(place: Hardware) -> Encoder:
    return Encoder.from_folder(model_folder(), place, "all-MiniLM-L6-v2")


@cache
def reference() -> np.ndarray:
    """The tickets' embeddings in fp32 on the CPU."""
    return encoder(CPU).encode(tickets())


def least_cosine(one: np.ndarray, other: np.ndarray) -> float:
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return float((np.einsum("nd,nd->n", one, other) / norms).min())


def embeddings() -> Figures:
    embeddings = {name: encoder(hardware(dtype)).encode(tickets()) for name, dtype in DTYPES.items()}
    figures = {f"least_cosine_{name}": least_cosine(vectors, reference()) for name, vectors in embeddings.items()}
    figures["most_apart_fp32"] = float(np.abs(embeddings["fp32"] - reference()).max())
    assert figures["least_cosine_fp32"] > 0.99999 and figures["most_apart_fp32"] < 1e-3, figures
    assert figures["least_cosine_bf16"] > 0.999, figures
    return figures


def cross_encoder_scores() -> Figures:
    first, second = examples("scored").sentences
    pairs = [*zip(first, second, strict=True), *zip(tickets()[:-1], tickets()[1:], strict=True)]
    with TemporaryDirectory() as name:
        folder = merge_adapter(model_folder(), ADAPTER, Path(name) / "cross")
        expected = CrossEncoder.from_folder(folder, CPU).score(pairs)
        scores = {name: CrossEncoder.from_folder(folder, hardware(dtype)).score(pairs) for name, dtype in DTYPES.items()}
    figures = {f"most_apart_{precision}": float(np.abs(found - expected).max()) for precision, found in scores.items()}
    figures["spread"] = float(np.ptp(expected))
    assert figures["most_apart_fp32"] < 1e-3 and figures["most_apart_bf16"] < 0.05 and figures["spread"] > 0.5, figures
    return figures


MIXED = torch.bfloat16 if DEVICE == "cuda" else torch.float32  # a dry run on a CPU without bf16 would take minutes


def rows_with_batches_started_ahead() -> Figures:
    """Many small batches of all lengths: each row gets its own sentence's embedding, once."""
    model = encoder(hardware())
    ids = model.tokenize(tickets())
    seen, least = np.zeros(len(ids), dtype=np.int64), 1.0
    batches = token_budget_batches(list(map(len, ids)), 400)
    for rows, vectors in forward_batches(batches, lambda rows: model.pad([ids[i] for i in rows]), at_once(model.embed), lambda: 3):
        seen[rows] += 1
        least = min(least, least_cosine(vectors, reference()[rows]))
    assert (seen == 1).all() and least > 0.9999, least
    return {"rows": float(len(ids)), "least_cosine": least}


def training_on(place: Hardware, name: str, dropout: bool = False, **options: float) -> tuple[Siamese, Trainer]:
    """A trainer of a fresh fp32 copy; `place.dtype` says whether the forward pass is mixed."""
    data = examples(OBJECTIVES[name])
    torch.manual_seed(0)
    copy = Encoder.from_folder(model_folder(), Hardware(place.device, torch.float32))
    siamese = build_trainee(copy, name, ObjectiveOptions(), data.take(np.arange(48)), data.take(np.arange(48, 64)))
    for module in siamese.module.modules():
        if isinstance(module, nn.Dropout) and not dropout:
            module.p = 0.0
    return siamese, Trainer(siamese, TrainingOptions(**{"epochs": 2, "batch_size": 16, "learning_rate": 5e-5} | options), place)


def gradients(siamese: Siamese, trainer: Trainer, rows: np.ndarray) -> tuple[float, torch.Tensor]:
    """The loss of a batch and all its gradients in one row, on the CPU."""
    siamese.module.train()
    loss = [loss for loss in trainer._gradients(rows) if loss is not None][-1]
    return loss, torch.cat([p.grad.flatten().float().cpu() for p in siamese.module.parameters() if p.grad is not None])


def training_steps() -> Figures:
    """Loss and gradients of one batch, for each objective, in fp32 and mixed with bf16."""
    figures = {}
    for name in OBJECTIVES:
        loss, expected = gradients(*training_on(CPU, name), np.arange(16))
        for precision, dtype in {"fp32": torch.float32, "mixed": MIXED}.items():
            found, values = gradients(*training_on(hardware(dtype), name), np.arange(16))
            figures[f"{name}_{precision}_loss"] = abs(found - loss) / abs(loss)
            figures[f"{name}_{precision}_gradient"] = float((values - expected).norm() / expected.norm())
    wrong = {key: value for key, value in figures.items() if value > (1e-3 if "fp32" in key else 0.15)}
    assert not wrong, wrong
    return figures


def a_batch_in_chunks() -> Figures:
    """A batch that goes through in several chunks has the loss and the gradients of the whole one."""
    loss, expected = gradients(*training_on(hardware(), "ranking"), np.arange(16))
    siamese, trainer = training_on(hardware(), "ranking")
    trainer._chunk = 128
    found, values = gradients(siamese, trainer, np.arange(16))
    figures = {"loss": abs(found - loss), "gradient": float((values - expected).norm() / expected.norm())}
    assert figures["loss"] < 1e-4 and figures["gradient"] < 1e-3, figures
    return figures


def train(trainer: Trainer, until: int | None = None) -> None:
    for event in trainer.run():
        if isinstance(event, BatchLoss) and event.step == until:
            return


def checkpoint_and_resume() -> Figures:
    """A run that goes on from a checkpoint file ends where the uninterrupted one does, up to what two equal runs differ by."""

    def fresh() -> Trainer:  # seeded as it is made
        return training_on(hardware(MIXED), "regression", dropout=True, average=0.9)[1]

    ends = []
    for _ in range(2):
        train(trainer := fresh())
        ends.append(trainer.weights())
    train(first := fresh(), until=4)
    with TemporaryDirectory() as name:
        save_file({key: value.contiguous() for key, value in first.state().items()}, Path(name) / "checkpoint.safetensors")
        state = load_file(Path(name) / "checkpoint.safetensors")
    second = fresh()
    second.load(state)
    assert all(torch.equal(value, state[key]) for key, value in second.state().items()), "the checkpoint did not come back whole"
    train(second)
    figures = {"two_equal_runs": _apart(*ends), "resumed": _apart(ends[0], second.weights())}
    assert second.step == second.steps and figures["resumed"] <= 10 * figures["two_equal_runs"], figures
    return figures


def _apart(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    return max(float((one[name] - other[name]).abs().max()) for name in one)


CHECKS = (
    embeddings,
    cross_encoder_scores,
    rows_with_batches_started_ahead,
    training_steps,
    a_batch_in_chunks,
    checkpoint_and_resume,
)
