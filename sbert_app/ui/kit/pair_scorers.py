"""Name cross-encoders and poly-encoders where one is chosen, each with what it was trained for."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sbert_app.models.defaults import DEFAULT_CROSS_ENCODER
from sbert_app.models.files.trained_for import LIKENESS, in_words

if TYPE_CHECKING:  # it imports torch
    from sbert_app.models.files.listing import ModelInfo

Choices = list[tuple[str, str]]  # label and model name


def label(name: str, trained_for: str) -> str:
    return f"{name} · {in_words(trained_for)}"


# Before torch is imported, and with it the registry that lists the others.
AT_FIRST: Choices = [(label(DEFAULT_CROSS_ENCODER, LIKENESS), DEFAULT_CROSS_ENCODER)]


def choices(models: "Iterable[ModelInfo]") -> Choices:
    """The choices of a dropdown; encoders, which score no pairs, by their names alone."""
    return [(info.name if info.kind == "encoder" else label(info.name, info.trained_for), info.name) for info in models]
