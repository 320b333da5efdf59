"""Load models by name from the bundled package, saved folders or the Hub, and keep the last few in memory."""

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from sbert_app.errors import UserError
from sbert_app.models.bundled import CROSS_ENCODER, bundled_cross_encoder, bundled_folder, checked_bundled_folder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.folders import POLY, ModelInfo, describe, first_line, kind_of, quoted
from sbert_app.models.hardware import Hardware, choose_hardware
from sbert_app.models.hub import HUB_NAME, from_hub
from sbert_app.models.names import expand_home, is_folder, plain_name, subfolders
from sbert_app.models.poly.encoder import PolyEncoder
from sbert_app.models.poly.scorer import PairScorer, PolyScorer
from sbert_app.models.words.untrained import DESIGNS, NEW_POLY, is_untrained, untrained
from sbert_app.settings import Settings

log = logging.getLogger(__name__)

DEFAULT_ENCODER = "all-MiniLM-L6-v2"
DEFAULT_CROSS_ENCODER = "cross-MiniLM-L6-stsb"
LOADED_MODELS = 3  # kept in memory, least recently used dropped first
RUN_NAME = re.compile(r"runs/[\w-]+")  # a model that was fine-tuned here
BACKBONE = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
SAMPLE = "Does this model read a sentence?"

Model = TypeVar("Model", PolyEncoder, Encoder, CrossEncoder)


class Registry:
    """Models by name: bundled, untrained, saved by this app, a Hub name, or (local mode) any folder."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.hardware = choose_hardware(settings.device, settings.precision)
        self._loaded: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._loading: dict[tuple[str, str], threading.Lock] = {}
        self._lock = threading.Lock()

    def list(self) -> list[ModelInfo]:
        """The bundled models, the allowed Hub models, the untrained networks and, in local mode, the saved models."""
        bundled = bundled_folder()
        models = [ModelInfo(DEFAULT_ENCODER, "encoder", "bundled", 384 if bundled else None, bundled is not None)]
        models.append(ModelInfo(DEFAULT_CROSS_ENCODER, "cross-encoder", "bundled", None, CROSS_ENCODER.is_dir()))
        models += [ModelInfo(name, "encoder", "hub", None, True) for name in self.settings.allowed_models]
        models += [ModelInfo(name, "encoder", "untrained", design.dim, bundled is not None) for name, design in DESIGNS.items()]
        models.append(ModelInfo(NEW_POLY, POLY, "untrained", 384 if bundled else None, bundled is not None))
        return models if self.settings.hosted else [*models, *map(describe, subfolders(self.settings.models))]

    def encoders(self, untrained: bool = False) -> Sequence[str]:
        """The names of the encoders available without a download; untrained: also of those that are there to be trained."""
        known = (info for info in self.list() if info.kind == "encoder" and info.available)
        return [info.name for info in known if untrained or info.origin != "untrained"]

    def encoder(self, name: str = DEFAULT_ENCODER) -> Encoder:
        """The encoder of that name, loaded at most once. Raises UserError for an unknown name."""
        return self._get("encoder", name, Encoder.from_folder)

    def encoder_of(self, name: str, fingerprint: str) -> Encoder:
        """The encoder that embedded a corpus. Raises UserError if the model of that name has changed since."""
        encoder = self.encoder(name)
        if encoder.fingerprint != fingerprint:
            raise UserError(f"The model '{name}' has changed since this corpus was indexed. Index it again.")
        return encoder

    def cross_encoder(self, name: str) -> CrossEncoder:
        """The cross-encoder of that name, loaded at most once. Raises UserError for an unknown name."""
        name = plain_name(name)
        load = CrossEncoder.from_folder if name != DEFAULT_CROSS_ENCODER else bundled_cross_encoder
        return self._get("cross-encoder", name, load)

    def pair_scorer(self, name: str) -> PairScorer:
        """The cross-encoder or poly-encoder of that name, loaded at most once. Raises UserError for an unknown name."""
        if self.kind(name) != POLY:
            return self.cross_encoder(name)
        return PolyScorer(self._get(POLY, name, _poly_loader(plain_name(name))))

    def cross_encoder_like(self, encoder: Encoder) -> tuple[CrossEncoder, bool]:
        """Return (cross-encoder of the same backbone, whether its head is trained); an untrained one only serves for timing."""
        bundled = self.cross_encoder(DEFAULT_CROSS_ENCODER)
        if same_backbone(encoder, bundled) or encoder.folder is None or encoder.of_words:
            return bundled, True
        fp32 = replace(self.hardware, dtype=torch.float32)
        untrained = CrossEncoder.untrained(encoder.folder / encoder.layout.transformer_path, fp32, labels=1)
        untrained.name = f"{encoder.name} with an untrained head"
        return untrained.cast(self.hardware), False

    def on_each_device(self, name: str = DEFAULT_ENCODER) -> Iterator[Encoder]:
        """Yield the encoder on the app's device, and if that is a GPU, on the CPU too."""
        encoder = self.encoder(name)
        yield encoder
        if encoder.hardware.device.type != "cpu" and encoder.folder is not None:
            yield Encoder.from_folder(encoder.folder, choose_hardware("cpu"), encoder.name)

    def folder(self, name: str) -> Path:
        """Where the model of that name is. Raises UserError for an unknown name."""
        return self._folder(plain_name(name))

    def kind(self, name: str) -> str:
        """Whether the model of that name is an encoder, a cross-encoder or a poly-encoder. Raises UserError for an unknown name."""
        name = plain_name(name)
        return "encoder" if is_untrained(name) else _kind_of(name, self.folder(name))

    def loaded(self, kind: str, name: str) -> bool:
        """Whether the model is in memory already."""
        return (kind, name) in self._loaded

    def trainable(self, name: str = DEFAULT_ENCODER) -> Encoder:
        """A separate fp32 copy of an encoder or poly-encoder, for training: the shared one is never changed."""
        name = plain_name(name) or DEFAULT_ENCODER
        fp32 = replace(self.hardware, dtype=torch.float32)
        if self.kind(name) == POLY:
            return self._read(POLY, name, _poly_loader(name), fp32)
        return self._read("encoder", name, Encoder.from_folder, fp32)

    def _get(self, kind: str, name: str, load: Callable[..., Model]) -> Model:
        key = kind, plain_name(name) or DEFAULT_ENCODER
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        try:
            with loading:  # one lock per model: a slow download does not block the others
                model: Model | None = self._loaded.get(key)
                if model is None:
                    model = self._load(*key, load)
                self._keep(key, model)
                return model
        finally:
            with self._lock:
                self._loading.pop(key, None)

    def _keep(self, key: tuple[str, str], model: Encoder | CrossEncoder) -> None:
        with self._lock:
            self._loaded[key] = model
            self._loaded.move_to_end(key)
            while len(self._loaded) > LOADED_MODELS:
                self._loaded.popitem(last=False)

    def _load(self, kind: str, name: str, load: Callable[..., Model]) -> Model:
        model = self._read(kind, name, load, self.hardware)
        log.info("loaded %s %s on %s", kind, name, self.hardware)
        return model

    def _read(self, kind: str, name: str, load: Callable[..., Model], hardware: Hardware) -> Model:
        if is_untrained(name):
            _check_kind(kind, name, "encoder")
            new: Any = self._untrained(name, hardware)
            model: Model = _tested(new)
            return model
        folder = self._folder(name)
        _check_kind(kind, name, _kind_of(name, folder))
        return _tested(load(folder, hardware, name))

    def _untrained(self, name: str, hardware: Hardware) -> Encoder:
        new = untrained(name, hardware, files=not self.settings.hosted)
        return Encoder(name, new.network, new.tokenizer, new.layout, hardware, new.dense)

    def _folder(self, name: str) -> Path:
        if name in (DEFAULT_ENCODER, NEW_POLY):
            return checked_bundled_folder()
        if name == DEFAULT_CROSS_ENCODER:
            return CROSS_ENCODER
        trained = self.settings.home / name / "model"
        if RUN_NAME.fullmatch(name) and is_folder(trained):
            return trained  # run ids are secret: knowing one proves ownership, in hosted mode too
        if self.settings.hosted:
            if name not in self.settings.allowed_models:
                raise UserError(f"Unknown model {quoted(name)}. Must be one of {', '.join(m.name for m in self.list())}.")
            return from_hub(name)
        saved = self.settings.models / name
        if saved.parent == self.settings.models and is_folder(saved):
            return saved
        path = expand_home(name)
        if is_folder(path):
            return path
        if not HUB_NAME.fullmatch(name):
            raise UserError(f"There is no model folder at {quoted(name)}. Type a Hub name such as 'org/model', or a folder.")
        return from_hub(name)


def _tested(model: Model) -> Model:
    """Return the model after running a test sentence. Raises UserError if that fails or returns NaN or infinity."""
    try:
        outputs = model.score([(SAMPLE, SAMPLE)]) if isinstance(model, CrossEncoder) else model.encode([SAMPLE])
    except Exception as error:  # a broken model can raise anything
        raise UserError(f"The model {quoted(model.name)} fails on a test sentence: {first_line(error)}. Choose another.") from error
    if len(outputs) != 1 or not np.isfinite(outputs).all():
        raise UserError(f"The model {quoted(model.name)} returns NaN or infinity. Save or download it again, or choose another.")
    return model


def same_backbone(encoder: Encoder, cross: CrossEncoder) -> bool:
    """Whether both transformers have the same type and size, so that their speeds can be compared."""
    first, second = encoder.transformer.config, cross.model.config
    return all(getattr(first, key, None) == getattr(second, key, None) for key in BACKBONE)


def _kind_of(name: str, folder: Path) -> str:
    known = {DEFAULT_CROSS_ENCODER: "cross-encoder", NEW_POLY: POLY}
    return known.get(name) or kind_of(folder, name)


def _poly_loader(name: str) -> Callable[..., PolyEncoder]:
    return PolyEncoder.untrained if name == NEW_POLY else PolyEncoder.from_folder


def _check_kind(kind: str, name: str, actual: str) -> None:
    if actual != kind:
        raise UserError(f"The model {quoted(name)} is of kind {actual}; this needs a model of kind {kind}.")
