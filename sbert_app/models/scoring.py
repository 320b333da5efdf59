"""What the scores of a cross-encoder or poly-encoder mean: how many a pair gets, their range, what they measure. Without torch."""

from collections.abc import Sequence
from typing import Protocol

from sbert_app.errors import UserError
from sbert_app.models.files.trained_for import ANSWERS, LIKENESS

Bounds = tuple[float, float]  # the lowest and the highest score
SHARE: Bounds = (0.0, 1.0)
COSINE: Bounds = (-1.0, 1.0)


class Classifier(Protocol):
    """What is asked of a pair scorer here."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> int: ...
    @property
    def label_names(self) -> Sequence[str]: ...


def check_one_score(scorer: Classifier) -> None:
    """Raise UserError for a model that gives a pair several numbers: none of them alone says how close the two are."""
    if scorer.labels != 1:
        names = f" ({', '.join(scorer.label_names)})" if scorer.label_names else ""
        raise UserError(
            f"The cross-encoder '{scorer.name}' gives {scorer.labels} labels, not a score: one number for each label{names}. "
            "Choose a cross-encoder with one label."
        )


def how_to_read(trained_for: str, bounds: Bounds | None) -> str:
    """What a score says, in one sentence or two."""
    if trained_for == ANSWERS:
        measure = "It says how well one text answers the other, not how alike they are"
    elif trained_for == LIKENESS:
        measure = "It says how alike the two are"
    else:
        measure = "Neither its name nor its card says what its score means"
    return f"{measure}: {_range(trained_for, bounds)}."


def _range(trained_for: str, bounds: Bounds | None) -> str:
    if bounds is None:
        return "a logit without a fixed range, to be compared only with other scores of this model; higher is closer"
    if trained_for == LIKENESS and bounds == SHARE:
        return "0 is unrelated, 1 the same"
    return f"from {bounds[0]:g} to {bounds[1]:g}, higher is closer"
