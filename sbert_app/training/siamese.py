"""Siamese training of an encoder: all sentences of an example go through the same weights, in one pass."""

from collections.abc import Generator, Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sbert_app.evaluation.verdict import primary_metric
from sbert_app.labelled.example_set import Examples
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.forward import at_once
from sbert_app.models.poly_encoder import PolyEncoder
from sbert_app.training.objectives import Classification, Guided, MultipleNegativesRanking
from sbert_app.training.trainee import Trainee
from sbert_app.vectors import Batches, Rows, Vectors

Ids = list[list[int]]


class Vocabulary:
    """The word embedding of `model`, cut down to the tokens in `sentences` until `restore` is called.

    AdamW without weight decay never changes a vector whose gradient is always zero. So a smaller embedding table gives exactly
    the same model, and optimizer, gradient norm and checkpoints skip the unused half of a small encoder.
    """

    def __init__(self, model: Any, sentences: Iterable[Sequence[int]], padding: int) -> None:
        self._model = model
        self._full: nn.Embedding = model.get_input_embeddings()
        kept = sorted({token for ids in sentences for token in ids} - {padding})
        kept.insert(padding, padding)  # it keeps its id: some models (RoBERTa, MPNet) compute positions from it
        self.usable = kept.index(padding) == padding and len(kept) < self._full.num_embeddings
        if self.usable:
            self._small_ids = {token: small for small, token in enumerate(kept)}
            weight = self._full.weight
            self._rows = torch.tensor(kept, device=weight.device)
            small = nn.Embedding.from_pretrained(weight.detach()[self._rows].clone(), freeze=False, padding_idx=padding)
            small.weight.requires_grad_(weight.requires_grad)
            model.set_input_embeddings(small)

    def renumber(self, sentences: Ids) -> Ids:
        """Replace token ids by those of the small table."""
        return [[self._small_ids[token] for token in ids] for ids in sentences] if self.usable else sentences

    @torch.no_grad()
    def restore(self) -> None:
        """Copy the trained vectors into the full table, and put it back into the model."""
        if self.usable:
            self._full.weight[self._rows] = self._model.get_input_embeddings().weight.to(self._full.weight.device)
            self._model.set_input_embeddings(self._full)
            self.usable = False


class Siamese(Trainee):
    """Encoder, objective, tokenised training and dev examples. Changes the encoder: pass a copy.

    Of labelled pairs, ranking uses only those whose label means "the same". A poly-encoder's codes start untrained, as a head does.
    """

    def __init__(self, encoder: Encoder, objective: nn.Module, train: Examples, dev: Examples) -> None:
        self.encoder = encoder
        self.objective = objective.to(encoder.hardware.device)
        codes = {"codes": encoder.codes} if isinstance(encoder, PolyEncoder) else {}
        self._untrained = nn.ModuleDict({"objective": self.objective} | codes)
        self.module = nn.ModuleDict({"encoder": encoder.transformer, "dense": encoder.dense, **self._untrained})
        self._ranking = isinstance(objective, MultipleNegativesRanking)
        if self._ranking:
            train = train.for_ranking()
        self._train, self._dev = train, dev
        ids = [[encoder.tokenize(column) for column in part.sentences] for part in (self._train, dev)]
        padding = encoder.tokenizer.pad_token_id or 0
        self.vocabulary = Vocabulary(encoder.transformer, (row for part in ids for column in part for row in column), padding)
        self._ids, self._dev_ids = ([self.vocabulary.renumber(column) for column in part] for part in ids)
        self.lengths = np.array([max(map(len, row)) for row in zip(*self._ids, strict=True)], dtype=np.int64)
        self.towers = len(self._ids)
        self._guide = encoder.frozen() if isinstance(objective, Guided) else None
        if self._guide:  # its embeddings of an example are computed when the example is first seen
            targets = np.full((len(train), self.towers, encoder.dim), np.nan, dtype=np.float32)
        else:
            targets = train.targets.astype(np.int64) if isinstance(objective, Classification) else train.gold.astype(np.float32)
        self._targets = torch.from_numpy(targets).to(encoder.hardware.device)

    def head(self) -> list[nn.Parameter]:
        return list(self._untrained.parameters())

    def batches(self, size: int, seed: int, epoch: int) -> list[Rows]:
        batches = super().batches(size, seed, epoch)
        return without_repeats(batches, list(zip(*self._train.sentences, strict=True))) if self._ranking else batches

    def forward(self, rows: Rows) -> Tensor:
        """Embeddings (b, towers, dim), computed in one batch."""
        if self._guide:
            unseen = rows[self._targets[torch.from_numpy(rows)].isnan().any(2).any(1).cpu().numpy()]
            if len(unseen):
                with torch.no_grad():
                    self._targets[torch.from_numpy(unseen)] = self._columns(self._guide, unseen).float()
        return self._columns(self.encoder, rows)

    def _columns(self, encoder: Encoder, rows: Rows) -> Tensor:
        embeddings = encoder.embed(encoder.pad([column[i] for column in self._ids for i in rows.tolist()]))
        return embeddings.view(self.towers, len(rows), -1).transpose(0, 1)

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        return self.objective(outputs.unbind(1), self._targets[torch.from_numpy(rows)])

    def evaluate(self) -> Iterator[float | None]:
        columns = []
        for ids in self._dev_ids:
            batches = self.encoder.batches(ids, list(map(len, ids)), at_once(self.encoder.embed))
            columns.append((yield from gather(batches, len(ids), self.encoder.dim)))
        yield primary_metric(self._dev.kind, columns, self._dev.gold, self.encoder.similarity)


def without_repeats(batches: Sequence[Rows], keys: Sequence[Sequence[Hashable]]) -> list[Rows]:
    """Exchange rows until, if possible, no batch repeats a text, which would be a false negative. keys[i]: texts of row i."""
    pending = [row for batch in batches for row in batch.tolist()]
    arranged = []
    for size in map(len, batches):
        used, chosen, later = set[Hashable](), list[int](), list[int]()
        for position, row in enumerate(pending):
            if len(chosen) == size:
                later += pending[position:]
                break
            if used.isdisjoint(keys[row]):
                used.update(keys[row])
                chosen.append(row)
            else:
                later.append(row)
        missing = size - len(chosen)  # above zero: repeats cannot be avoided
        arranged.append(np.array(chosen + later[:missing], dtype=np.int64))
        pending = later[missing:]
    return arranged


def gather(batches: Batches, count: int, dim: int) -> Generator[None, None, Vectors]:
    """What the batches hold, (count, dim). Yields between them."""
    vectors = np.empty((count, dim), dtype=np.float32)
    for rows, part in batches:
        vectors[rows] = part
        yield
    return vectors


def finish(trainee: Trainee) -> None:
    """Restore the full vocabulary, switch dropout off and drop the gradients."""
    trainee.vocabulary.restore()
    trainee.module.zero_grad(set_to_none=True)
    trainee.module.eval()
