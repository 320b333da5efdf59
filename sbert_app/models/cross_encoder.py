"""The cross-encoder: reads both sentences of a pair together and scores them; n sentences take n(n-1)/2 passes."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sbert_app.errors import UserError
from sbert_app.models.encoder import WINDOW
from sbert_app.models.engine.engine import OnEngine
from sbert_app.models.engine.forward import Features, Fetch, pad_rows, use_fastest_attention
from sbert_app.models.engine.hardware import Hardware
from sbert_app.models.files.card import write_card
from sbert_app.models.files.layout import quoted, read_json
from sbert_app.models.files.trained_for import SHARE, UNKNOWN, Bounds, label_names, purpose, read_card, trained_for
from sbert_app.models.loading import CLASSIFIER_CLASS, LOADING, cast, fingerprint, load_transformer, load_without_weights
from sbert_app.vectors import Batches, Vectors, in_order

Pair = tuple[str, str]
TORCH = "torch."
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"Sigmoid": torch.sigmoid, "Identity": lambda logits: logits}


class CrossEncoder(OnEngine):
    """A sequence classifier over pairs. One label: (n,) scores; k labels: (n, k). Activation as in sentence-transformers."""

    kind = "cross-encoder"

    def __init__(self, name: str, model: Any, tokenizer: Any, hardware: Hardware, trained_for: str = UNKNOWN) -> None:
        super().__init__(name, model, tokenizer, self.logits, hardware, limit=None)
        self.trained_for = trained_for  # LIKENESS, ANSWERS or UNKNOWN
        self.labels = int(model.config.num_labels)
        self.label_names: Sequence[str] = label_names(model.config.to_dict())
        activation = _activation_name(model.config, name)
        self._activation = ACTIVATIONS[activation]
        self.bounds: Bounds | None = SHARE if activation == "Sigmoid" else None  # of the scores, None for logits

    @classmethod
    def from_folder(cls, folder: Path, hardware: Hardware, name: str = "", weights: bool = True) -> "CrossEncoder":
        """Load a sequence-classification folder. Raises UserError if it cannot be read. weights: as for an encoder."""
        name = name or folder.name
        read = partial(load_transformer, folder, hardware, CLASSIFIER_CLASS, name=name)
        model, tokenizer = read() if weights else load_without_weights(folder, name)
        saved = _activation_in(read_json(folder / "config_sentence_transformers.json", name))  # by its later versions
        if saved.startswith(TORCH):
            model.config.sentence_transformers = {"activation_fn": saved}
        cross = cls(name, model, tokenizer, hardware, purpose(folder, name, cls.kind))
        cross.folder, cross.reader = folder, lambda: read()[0]
        return cross

    @classmethod
    def untrained(cls, folder: Path, hardware: Hardware, labels: int) -> "CrossEncoder":
        """The transformer in `folder` with a random head of `labels` outputs, to be trained."""
        fp32 = replace(hardware, dtype=torch.float32)
        model, tokenizer = load_transformer(folder, fp32, CLASSIFIER_CLASS, labels)
        return cls(folder.name, model, tokenizer, fp32)

    @classmethod
    def from_adapter(cls, base: Path, adapter: Path, hardware: Hardware, name: str = "", weights: bool = True) -> "CrossEncoder":
        """Load a LoRA adapter and its head over the transformer in `base`, merged into the weights, so no slower."""
        name = name or adapter.name
        labels = int(read_json(adapter / "labels.json", name).get("labels", 1))
        of_adapter = trained_for(name, {}, read_card(adapter))
        if weights:
            model, tokenizer = _merged(base, adapter, labels, hardware, name)
            cross = cls(name, model, tokenizer, replace(hardware, dtype=torch.float32), of_adapter).cast(hardware)
        else:
            cross = cls(name, *load_without_weights(base, name, num_labels=labels), hardware, of_adapter)
        cross.folder, cross.reader = adapter, lambda: cls.from_adapter(base, adapter, hardware, name).transformer
        return cross

    @cached_property
    def fingerprint(self) -> str:
        """Differs between cross-encoders whose scores differ. 16 hex digits."""
        settings = f"{self.max_length}{self.hardware.precision}{_activation_name(self.config, self.name)}"
        return fingerprint(settings, self.transformer)

    def cast(self, hardware: Hardware) -> "CrossEncoder":
        """Convert the weights to the precision of `hardware`, for scoring. They are shared: do not use this object afterwards."""
        with LOADING:  # the attention modules are imported at first use
            cast(self.transformer, hardware.dtype)
            use_fastest_attention(self.transformer, hardware)
        return CrossEncoder(self.name, self.transformer, self.tokenizer, hardware, self.trained_for)

    def save(self, folder: Path, title: str = "", facts: Mapping[str, str] | None = None) -> None:
        """Write a folder that sentence-transformers' CrossEncoder loads, with a model card of `facts`. Needs fp32 weights."""
        super().save(folder)
        base = {"base model": self.name, "tokens": f"{self.max_length}"}
        write_card(folder, title or folder.name, base | dict(facts or {}), cross_of=self.name)

    def check_one_score(self) -> None:
        """Raise UserError if it gives a pair several numbers: none of them alone says how close the two are."""
        if self.labels != 1:
            names = f" ({', '.join(self.label_names)})" if self.label_names else ""
            raise UserError(
                f"The cross-encoder '{self.name}' gives {self.labels} labels, not a score: one number for each label{names}. "
                "Choose a cross-encoder with one label."
            )

    def score(self, pairs: Sequence[Pair]) -> Vectors:
        """Score pairs in their order. n pairs -> (n,), or (n, k) for k > 1 labels, float32, higher is closer."""
        scores = in_order(self.stream(pairs), len(pairs), self.labels)
        return scores[:, 0] if self.labels == 1 else scores

    def stream(self, pairs: Sequence[Pair]) -> Batches:
        """Yield (row numbers, scores (b, k)) batch by batch; close the iterator to stop."""
        for start in range(0, len(pairs), WINDOW):
            encodings = self.tokenize(pairs[start : start + WINDOW])
            for rows, scores in self.batches(encodings, [len(encoding.ids) for encoding in encodings], self._start):
                yield rows + start, scores

    def tokenize(self, pairs: Sequence[Pair]) -> list[Any]:
        """The tokeniser's encodings (`ids`, `type_ids`), one per pair, cut at `max_length`."""
        return self._backend.encode_batch_fast(list(pairs))

    def logits(self, features: Features) -> Tensor:
        """(B, T) ids -> (B, k), before the activation."""
        return self.transformer(**features).logits.float()

    def pad(self, rows: Sequence[Any]) -> Features:
        """A batch on the device, of encodings of pairs, padded to the longest."""
        features = super().pad([encoding.ids for encoding in rows])
        if "token_type_ids" in self.tokenizer.model_input_names:
            features["token_type_ids"] = pad_rows([encoding.type_ids for encoding in rows], 0, self.hardware.device)
        return features

    def _start(self, features: Features) -> Fetch:
        return self.engine.start(features, lambda logits, _: self._activation(logits.float()))


def _merged(base: Path, adapter: Path, labels: int, hardware: Hardware, name: str) -> tuple[Any, Any]:
    """Return (model in fp32, tokenizer)."""
    with LOADING:
        from peft import PeftModel  # heavy: two seconds

        model, tokenizer = load_transformer(base, replace(hardware, dtype=torch.float32), CLASSIFIER_CLASS, labels, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # from peft about transformers, nothing a user can act on
            return PeftModel.from_pretrained(model, adapter).merge_and_unload().eval(), tokenizer


def _activation_name(config: Any, model: str) -> str:
    """The activation that the config names (new or old key), else sigmoid for one label and identity for more.

    A class outside torch is not run, as in sentence-transformers. Raises UserError for another one of torch than ACTIVATIONS.
    """
    default = "Sigmoid" if config.num_labels == 1 else "Identity"
    configured = _activation_in(getattr(config, "sentence_transformers", None))
    configured = configured or str(getattr(config, "sbert_ce_default_activation_function", None))
    if not configured.startswith(TORCH):
        return default
    name = configured.rsplit(".", 1)[-1]
    if name not in ACTIVATIONS:
        raise UserError(
            f"The cross-encoder {quoted(model)} ends in the activation {quoted(name)}. This app computes "
            f"{' and '.join(ACTIVATIONS)}: choose another model."
        )
    return name


def _activation_in(settings: Any) -> str:
    """The activation that settings of sentence-transformers name, "" if they name none."""
    return str(settings.get("activation_fn") or "") if isinstance(settings, dict) else ""
