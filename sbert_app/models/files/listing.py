"""List models: what each is, where it is from, and what a cross-encoder was trained for. Reads settings files, no weights."""

import re
from dataclasses import dataclass
from pathlib import Path

from sbert_app.errors import UserError
from sbert_app.models.files import finding
from sbert_app.models.files.layout import POLY, kind_of, read_config, read_layout
from sbert_app.models.files.trained_for import LIKENESS, label_count, purpose, trained_for
from sbert_app.settings import Settings

PREFIX = "new/"  # of an untrained network's name
CROSS_NAME = re.compile(r"cross-encoder|re-?rank", re.IGNORECASE)  # a Hub model's name, where its files are not here


@dataclass(frozen=True)
class Design:
    """units: of the BiLSTM in each direction, 0 for none; dense: sizes of the layers after pooling; frozen: the word vectors."""

    about: str
    units: int
    pooling: str
    dense: tuple[int, ...]
    frozen: bool

    @property
    def dim(self) -> int:
        return self.dense[-1] if self.dense else 2 * self.units


DESIGNS = {
    f"{PREFIX}infersent": Design(
        "InferSent (with the triplet objective: Dor et al.): a BiLSTM over word vectors, the largest value over time",
        units=256, pooling="max", dense=(), frozen=True,
    ),
    f"{PREFIX}dan": Design(
        "a deep averaging network, as in the Universal Sentence Encoder: the mean of word vectors, then two tanh layers",
        units=0, pooling="mean", dense=(512, 512), frozen=False,
    ),
}  # fmt: skip


def is_untrained(name: str) -> bool:
    """Whether a model's name asks for a network whose weights are all random."""
    return name.startswith(PREFIX) and name != finding.NEW_POLY


@dataclass(frozen=True)
class ModelInfo:
    """One row of the model list."""

    name: str
    kind: str  # "encoder", "cross-encoder", "poly-encoder" or "damaged"
    origin: str  # "bundled", "hub", "untrained" or "saved"
    dim: int | None
    available: bool
    trained_for: str = ""  # "likeness", "answers" or, if unknown and for encoders, ""
    labels: int | None = None  # outputs of a cross-encoder

    @property
    def scores_pairs(self) -> bool:
        """Whether it gives a pair one score, as far as that is known."""
        return self.available and self.kind in ("cross-encoder", POLY) and self.labels in (1, None)


def listed(settings: Settings) -> list[ModelInfo]:
    """The bundled models, the allowed Hub models, the untrained networks and, in local mode, the saved models."""
    bundled = finding.bundled_folder()
    dim, there = 384 if bundled else None, bundled is not None
    models = [
        ModelInfo(finding.DEFAULT_ENCODER, "encoder", "bundled", dim, there),
        ModelInfo(finding.DEFAULT_CROSS_ENCODER, "cross-encoder", "bundled", None, finding.CROSS_ENCODER.is_dir(), LIKENESS, 1),
        *map(of_hub, settings.allowed_models),
        *(ModelInfo(name, "encoder", "untrained", design.dim, there) for name, design in DESIGNS.items()),
        ModelInfo(finding.NEW_POLY, POLY, "untrained", dim, there),
    ]
    return models if settings.hosted else [*models, *map(describe, finding.subfolders(settings.models))]


def describe(folder: Path, name: str = "", origin: str = "saved") -> ModelInfo:
    """One model folder; a damaged one is listed as damaged. name: of the model, default: the folder's."""
    name = name or folder.name
    try:
        kind = kind_of(folder, name)
        labels = label_count(read_config(folder, name)) if kind == "cross-encoder" else None
        dense = read_layout(folder, name).dense if kind != "cross-encoder" else ()
        dim = int(read_config(folder / dense[-1], name)["out_features"] if dense else read_config(folder, name)["hidden_size"])
        return ModelInfo(name, kind, origin, dim, (folder / "model.safetensors").is_file(), purpose(folder, name, kind), labels)
    except (UserError, KeyError, TypeError, ValueError, OSError):
        return ModelInfo(name, "damaged", origin, None, available=False)


def of_hub(name: str) -> ModelInfo:
    """A Hub model by its copy on this machine; without one, by its name."""
    copy = finding.local_copy(name)
    info = describe(copy, name, "hub") if copy else None
    if info and info.available:
        return info
    kind = "cross-encoder" if CROSS_NAME.search(name) else "encoder"
    return ModelInfo(name, kind, "hub", None, True, trained_for(name, {}) if kind == "cross-encoder" else "")
