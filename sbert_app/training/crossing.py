"""Training of a cross-encoder: both sentences of a pair go through the network together, its score learns to equal the label."""

from collections.abc import Generator, Iterator, Sequence
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor, nn

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import METRICS, measure, predict
from sbert_app.labelled.example_set import Examples
from sbert_app.models.cross_encoder import CrossEncoder, Pair
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import at_once
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.step import each_within
from sbert_app.training.objectives import COSINE, build_objective
from sbert_app.training.options import PAIR_OBJECTIVE, ObjectiveOptions, check_of_similarity
from sbert_app.training.siamese import Siamese, Vocabulary, gather
from sbert_app.training.trainee import Trainee
from sbert_app.vectors import Array, Rows, Vectors

Trained = Encoder | CrossEncoder


class PairTrainee(Trainee):
    """A cross-encoder of one output, all weights, by binary cross-entropy of its logit. Changes the model: pass a copy.

    As sentence-transformers' BinaryCrossEntropyLoss; a score is a target between 0 and 1.
    """

    towers = 2  # in one row; and by counting two, the memory of attention, which grows with the square of its length, is halved

    def __init__(self, cross: CrossEncoder, train: Examples, dev: Examples) -> None:
        cross.check_one_score()
        self.encoder, self.objective = cross, nn.BCEWithLogitsLoss()  # named as those of `Siamese`
        self.module = cross.transformer.requires_grad_(True)  # a merged adapter's are frozen
        self._dev = dev
        parts = [cross.tokenize(pairs_of(part)) for part in (train, dev)]
        ids = [[encoding.ids for encoding in part] for part in parts]
        self.vocabulary = Vocabulary(cross.transformer, (row for part in ids for row in part), cross.tokenizer.pad_token_id or 0)
        self._rows, self._dev_rows = (
            [SimpleNamespace(ids=row, type_ids=e.type_ids) for row, e in zip(self.vocabulary.renumber(own), part, strict=True)]
            for own, part in zip(ids, parts, strict=True)
        )
        self.lengths = np.array([len(row.ids) for row in self._rows], dtype=np.int64)
        self._targets = torch.from_numpy(train.gold.astype(np.float32)).to(cross.hardware.device)

    def forward(self, rows: Rows) -> Tensor:
        """(b, 1) logits."""
        return self.encoder.logits(self.encoder.pad([self._rows[i] for i in rows.tolist()]))

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        return self.objective(outputs[:, 0], self._targets[torch.from_numpy(rows)])

    def evaluate(self) -> Iterator[float | None]:
        lengths = [len(row.ids) for row in self._dev_rows]
        logits = yield from gather(self.encoder.batches(self._dev_rows, lengths, at_once(self.encoder.logits)), len(lengths), 1)
        yield measure(self._dev.kind, logits[:, 0].astype(float), self._dev.gold)[next(iter(METRICS[self._dev.kind]))]


def check_fits(model: Trained, objective: str) -> None:
    """Raise UserError for an objective that does not fit the model."""
    if isinstance(model, CrossEncoder) != (objective == PAIR_OBJECTIVE):
        way = " Name it as --cross-encoder, on the page under “What is trained”." if objective != PAIR_OBJECTIVE else ""
        refused = f"The model '{model.name}' is of kind {model.kind}: it cannot be trained with the objective '{objective}'."
        raise UserError(refused + way)


def build_trainee(
    model: Trained, objective: str, options: ObjectiveOptions, train: Examples, dev: Examples
) -> Siamese | PairTrainee:
    """The trainee for a model. Raises UserError for an objective that does not fit it."""
    check_fits(model, objective)
    if isinstance(model, CrossEncoder):
        return PairTrainee(model, train, dev)
    similarity = model.attended if isinstance(model, PolyEncoder) else COSINE
    if similarity is not COSINE:
        check_of_similarity(objective)
    return Siamese(model, build_objective(objective, model.dim, len(train.labels), options, similarity), train, dev)


def predictions(model: Trained, examples: Examples, hardware: Hardware) -> Generator[None, None, tuple[Sequence[Vectors], Array]]:
    """The embeddings of each column, none of a cross-encoder, and the scores, (n,). Yields between batches."""
    if isinstance(model, CrossEncoder):
        batches = each_within(hardware.autocast, model.stream(pairs_of(examples)))
        return (), (yield from gather(batches, len(examples), 1))[:, 0].astype(float)
    columns = []
    for sentences in examples.sentences:
        batches = each_within(hardware.autocast, model.stream(sentences))
        columns.append((yield from gather(batches, len(sentences), model.dim)))
    return columns, predict(examples.kind, columns, model.similarity)


def pairs_of(examples: Examples) -> list[Pair]:
    return list(zip(*examples.sentences, strict=True))
