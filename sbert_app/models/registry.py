"""Load models by name from the bundled package, saved folders or the Hub, and keep the last few in memory."""

import gc
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np
import torch

from sbert_app.errors import UserError
from sbert_app.models.acceleration import Acceleration
from sbert_app.models.bundled import bundled_cross_encoder, bundled_encoder
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import Hardware, choose_hardware
from sbert_app.models.files import finding
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER, NEW_POLY, RUN_NAME, plain_name
from sbert_app.models.files.layout import POLY, first_line, kind_of, quoted
from sbert_app.models.files.listing import ModelInfo, is_untrained, listed
from sbert_app.models.files.trained_for import LIKENESS
from sbert_app.models.networks import forget
from sbert_app.models.poly_encoder import PairScorer, PolyEncoder, PolyScorer
from sbert_app.models.words.untrained import untrained
from sbert_app.settings import Settings
from sbert_app.storage import discard, writing
from sbert_app.watching import Private

log = logging.getLogger(__name__)

SAMPLE = "Does this model read a sentence?"
LOADED_MODELS = 3  # kept in memory, least recently used dropped first

Model = TypeVar("Model", PolyEncoder, Encoder, CrossEncoder)
LOADERS: dict[str, Callable[..., Any]] = {DEFAULT_CROSS_ENCODER: bundled_cross_encoder, NEW_POLY: PolyEncoder.untrained}
KINDS = {DEFAULT_ENCODER: "encoder", DEFAULT_CROSS_ENCODER: "cross-encoder", NEW_POLY: POLY}  # of the bundled models


class Registry:
    """Models by name: bundled, untrained, saved by this app, a Hub name, or (local mode) any folder."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        """options: as for `Acceleration`."""
        self.settings = settings
        self.hardware = choose_hardware(settings.device, settings.precision)
        self.acceleration = Acceleration(settings.cache / "openvino", self.hardware, settings.engine == "auto", **options)
        self._loaded: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._once_loaded: set[tuple[str, str]] = set()
        self._loading: WeakValueDictionary[tuple[str, str], threading.Lock] = WeakValueDictionary()  # as long as somebody waits
        self._lock = threading.Lock()

    def list(self) -> list[ModelInfo]:
        """The bundled models, the allowed Hub models, the untrained networks and, in local mode, the saved models."""
        return listed(self.settings)

    def delete(self, name: str) -> None:
        """Delete a saved model for good, damaged or not. Raises UserError if there is none of this name."""
        folder = self.settings.models / name
        if self.settings.hosted or folder not in finding.subfolders(self.settings.models):
            raise UserError("This saved model no longer exists. Open the list again.")
        forget(folder, self.settings.cache / "openvino")
        with writing("The folder of saved models"):
            discard(folder)
        with self._lock:
            self._once_loaded = {key for key in self._once_loaded if key[1] != name}
            self._loaded = OrderedDict((key, model) for key, model in self._loaded.items() if key[1] != name)

    def encoders(self, untrained: bool = False) -> Sequence[str]:
        """The names of the encoders available without a download; untrained: also of those that are there to be trained."""
        known = (info for info in self.list() if info.kind == "encoder" and info.available)
        return [info.name for info in known if untrained or info.origin != "untrained"]

    def rerankers(self) -> Sequence[str]:
        """The names of the cross-encoders to re-rank answers with: one label, not bundled, and not trained for likeness."""
        suited = (info for info in self.list() if info.kind == "cross-encoder" and info.scores_pairs and info.origin != "bundled")
        return [info.name for info in suited if info.trained_for != LIKENESS]

    def pair_scorers(self, kinds: Sequence[str] = ("cross-encoder", POLY)) -> Sequence[ModelInfo]:
        """The available models of these kinds that give a pair one score; without those that are there to be trained."""
        return [info for info in self.list() if info.kind in kinds and info.scores_pairs and info.origin != "untrained"]

    def encoder(self, name: str = DEFAULT_ENCODER) -> Encoder:
        """The encoder of that name, loaded at most once. Raises UserError for an unknown name."""
        return self._get(Encoder, name)

    def encoder_of(self, name: str, fingerprint: str) -> Encoder:
        """The encoder that embedded a corpus. Raises UserError if the model of that name has changed since."""
        try:
            encoder = self.encoder(name)
        except UserError as error:
            raise UserError(f"{error} Or index the corpus again with another model.") from error
        if encoder.fingerprint != fingerprint:
            raise UserError(f"The model '{name}' has changed since this corpus was indexed. Index it again.")
        return encoder

    def cross_encoder(self, name: str) -> CrossEncoder:
        """The cross-encoder of that name, loaded at most once. Raises UserError for an unknown name, or one of several labels."""
        cross = self._get(CrossEncoder, name)
        cross.check_one_score()
        return cross

    def pair_scorer(self, name: str) -> PairScorer:
        """The cross-encoder or poly-encoder of that name, as `cross_encoder`: it gives a pair one score. Raises UserError."""
        return PolyScorer(self._get(PolyEncoder, name)) if self.kind(name) == POLY else self.cross_encoder(name)

    def kind(self, name: str) -> str:
        """Whether the model of that name is an encoder, a cross-encoder or a poly-encoder. Raises UserError for an unknown name."""
        name = plain_name(name)
        return KINDS.get(name) or ("encoder" if is_untrained(name) else kind_of(self.folder(name), name))

    def runs_on(self, name: str) -> str:
        """Device and precision, and the engine once the encoder of that name is in memory: "CPU, bf16, OpenVINO"."""
        return str(getattr(self._loaded.get(("encoder", name)), "runs_on", self.hardware))

    def release(self) -> None:
        """Give up the weights that a job had torch read again, of models that another engine computes."""
        with self._lock:
            models = list(self._loaded.values())
        for model in models:
            if model.engine is not model.torch_engine:
                model.release()

    def loaded(self, kind: str, name: str) -> bool:
        """Whether a model is in memory now."""
        return (kind, name) in self._loaded

    def was_loaded(self, kind: str, name: str) -> bool:
        """Whether a model is in memory now, or was before others took its place."""
        return (kind, name) in self._once_loaded

    def trainable(self, name: str = DEFAULT_ENCODER) -> Any:
        """A separate fp32 copy of a model of any kind, for training: the shared one is never changed."""
        name = plain_name(name) or DEFAULT_ENCODER
        of: Any = {POLY: PolyEncoder, CrossEncoder.kind: CrossEncoder}.get(self.kind(name), Encoder)
        return self._read(name, LOADERS.get(name, of.from_folder), replace(self.hardware, dtype=torch.float32))

    def _get(self, of: type[Model], name: str) -> Model:
        key = of.kind, plain_name(name) or DEFAULT_ENCODER
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        try:
            with loading:  # one lock per model: a slow download does not block the others
                model: Model | None = self._loaded.get(key)
                if model is None:
                    model = self._load(of, key[1])
                self.keep(key, model)
                return model
        finally:
            del loading  # a traceback would keep it

    def keep(self, key: tuple[str, str], model: Encoder | CrossEncoder) -> None:
        with self._lock:
            self._loaded.pop(key, None)
            self._loaded[key] = model
            self._once_loaded.add(key)
            dropped = len(self._loaded) > LOADED_MODELS
            if dropped:
                self._loaded.popitem(last=False)
        if dropped:
            gc.collect()  # a network refers to itself: without this it stays for minutes

    def _load(self, of: type[Model], name: str) -> Model:
        if (kind := self.kind(name)) != of.kind:
            needed = f"this needs a model of kind {of.kind}. Evaluation measures all kinds."
            raise UserError(f"The model {quoted(name)} is of kind {kind}; {needed}")
        load = LOADERS.get(name, of.from_folder)
        if name == DEFAULT_ENCODER and self.hardware.device.type == "cpu":
            load = bundled_encoder
        if is_untrained(name) or (self.settings.hosted and RUN_NAME.fullmatch(name)):  # a deleted run leaves no copy
            return self._read(name, load, self.hardware)
        base: tuple[Path, ...] = (finding.checked_bundled_folder(),) if name == DEFAULT_CROSS_ENCODER else ()
        folders = (*base, self.folder(name))
        if (ready := self.acceleration.ready(of.kind, folders)) is not None:
            model: Model = load(folders[-1], self.hardware, name, weights=False)
            engine, model.fingerprint = ready
            model.use(engine)
            log.info("loaded %s %s on %s", of.kind, Private(name), model.runs_on)
            return tested(model)
        model = self._read(name, load, self.hardware)
        log.info("loaded %s %s on %s", of.kind, Private(name), self.hardware)
        self.acceleration.begin(model, folders)
        return model

    def _read(self, name: str, load: Callable[..., Model], hardware: Hardware) -> Model:
        hosted = self.settings.hosted
        made: Any = untrained(name, hardware, not hosted) if is_untrained(name) else load(self.folder(name), hardware, name)
        return tested(made)

    def folder(self, name: str) -> Path:
        """Where the model of that name is. Raises UserError for an unknown name."""
        name = plain_name(name) or DEFAULT_ENCODER
        if name in (DEFAULT_ENCODER, NEW_POLY):
            return finding.checked_bundled_folder()
        if name == DEFAULT_CROSS_ENCODER:
            return finding.CROSS_ENCODER
        trained = self.settings.home / name / "model"
        if RUN_NAME.fullmatch(name) and finding.is_folder(trained):
            return trained  # run ids are secret: knowing one proves ownership, in hosted mode too
        if self.settings.hosted:
            if name not in self.settings.allowed_models:
                raise UserError(f"Unknown model {quoted(name)}. Must be one of {', '.join(m.name for m in self.list())}.")
            return finding.from_hub(name)
        return finding.typed_folder(name, self.settings.models)


def tested(model: Model) -> Model:
    """Return the model after running a test sentence. Raises UserError if that fails or returns NaN or infinity."""
    try:
        outputs = model.score([(SAMPLE, SAMPLE)]) if isinstance(model, CrossEncoder) else model.encode([SAMPLE])
    except Exception as error:  # a broken model can raise anything
        raise UserError(f"The model {quoted(model.name)} fails on a test sentence: {first_line(error)}. Choose another.") from error
    if len(outputs) != 1 or not np.isfinite(outputs).all():
        raise UserError(f"The model {quoted(model.name)} returns NaN or infinity. Save or download it again, or choose another.")
    return model
