"""Train a cross-encoder, all weights or a LoRA adapter (Hu et al. 2021): how the bundled one was made."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sbert_app.evaluation.verdict import METRICS, measure
from sbert_app.labelled.example_set import Examples
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.engine.engine import at_once
from sbert_app.models.engine.forward import forward_batches, token_budget_batches
from sbert_app.models.files.layout import write_json
from sbert_app.models.loading import LOADING
from sbert_app.training.crossing import PairTrainee, pairs_of
from sbert_app.vectors import Rows

HEAD = ("pooler", "classifier")  # trained in full: random, or trained for another task


class CrossEncoderTrainee(PairTrainee):
    """As the app's, but frozen weights stay frozen, and labelled pairs may have one output per label (cross-entropy)."""

    def __init__(self, cross: CrossEncoder, train: Examples, dev: Examples) -> None:
        self.encoder, self.module, self._dev = cross, cross.transformer, dev
        self._rows, self._dev_rows = cross.tokenize(pairs_of(train)), cross.tokenize(pairs_of(dev))
        self.lengths = np.array([len(row.ids) for row in self._rows], dtype=np.int64)
        self._scored = cross.labels == 1
        self.objective = nn.BCEWithLogitsLoss() if self._scored else nn.CrossEntropyLoss()
        targets = train.gold.astype(np.float32) if self._scored else train.targets.astype(np.int64)
        self._targets = torch.from_numpy(targets).to(cross.hardware.device)

    def head(self) -> list[nn.Parameter]:
        return [p for name, p in self.module.named_parameters() if p.requires_grad and "classifier" in name]

    def loss(self, outputs: Tensor, rows: Rows) -> Tensor:
        """outputs: (b, labels) logits."""
        return self.objective(outputs[:, 0] if self._scored else outputs, self._targets[torch.from_numpy(rows)])

    def evaluate(self) -> Iterator[float | None]:
        """Yield None per dev batch, then Spearman (scored) or average precision of the positive label (labelled)."""
        values, kind, pad = np.empty(len(self._dev)), self._dev.kind, self.encoder.pad
        column = 0 if self._scored else self._dev.positive
        batches = token_budget_batches((len(row.ids) for row in self._dev_rows), self.encoder.hardware.token_budget)
        forward = at_once(self.encoder.logits)
        for rows, logits in forward_batches(batches, lambda rows: pad([self._dev_rows[i] for i in rows]), forward):
            values[rows] = logits[:, column]
            yield None
        yield measure(kind, values, self._dev.gold)[next(iter(METRICS[kind]))]


def add_adapter(cross: CrossEncoder, rank: int, seed: int = 0) -> CrossEncoder:
    """Freeze all weights but the head, and add a LoRA adapter of this rank to every linear layer; it shares the weights."""
    with LOADING:
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(seed)
        config = LoraConfig(
            task_type="SEQ_CLS", r=rank, lora_alpha=2 * rank, target_modules=_linear(cross.transformer), modules_to_save=list(HEAD)
        )
        return CrossEncoder(cross.name, get_peft_model(cross.transformer, config), cross.tokenizer, cross.hardware)


def save_adapter(cross: CrossEncoder, folder: Path, base: str) -> None:
    """Write the adapter and the head only, in half precision, for `CrossEncoder.from_adapter`."""
    cross.transformer.peft_config["default"].base_model_name_or_path = base  # otherwise a local path
    cross.transformer.save_pretrained(folder, safe_serialization=True)
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({name: weight.half() for name, weight in weights.items()}, folder / "adapter_model.safetensors")
    (folder / "README.md").unlink(missing_ok=True)  # peft's empty template
    write_json(folder / "labels.json", {"labels": cross.labels})


def _linear(model: Any) -> list[str]:
    """Names of the linear layers inside the transformer's blocks."""
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    return [name for name in names if not any(part in name for part in HEAD)]
