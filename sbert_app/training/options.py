"""What people set: the options of the training loop, the objectives and their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sbert_app.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

# Lowest and highest value of each option that people set.
RANGES: dict[str, tuple[Any, Any]] = {
    "epochs": (1, 100),
    "batch_size": (2, 1024),
    "learning_rate": (1e-8, 1.0),
    "seed": (0, 2**31 - 1),
}
SCALE = 20.0  # cosines lie in -1..1, too narrow for a softmax

# Table 6 of the paper: the softmax classifier's input.
CONCATENATIONS: "dict[str, Callable[[Tensor, Tensor], list[Tensor]]]" = {
    "(u, v)": lambda u, v: [u, v],
    "(|u − v|)": lambda u, v: [(u - v).abs()],
    "(u ∗ v)": lambda u, v: [u * v],
    "(|u − v|, u ∗ v)": lambda u, v: [(u - v).abs(), u * v],
    "(u, v, u ∗ v)": lambda u, v: [u, v, u * v],
    "(u, v, |u − v|)": lambda u, v: [u, v, (u - v).abs()],
    "(u, v, |u − v|, u ∗ v)": lambda u, v: [u, v, (u - v).abs(), u * v],
}
PAPER_CONCATENATION = "(u, v, |u − v|)"
INFERSENT_CONCATENATION = "(u, v, |u − v|, u ∗ v)"
DISTANCES = ("euclidean", "manhattan", "cosine")  # of the triplet objective


@dataclass(frozen=True)
class TrainingOptions:
    """Options of the training loop."""

    epochs: int = 4
    batch_size: int = 16
    learning_rate: float = 2e-5
    head_rate: float = 1e-3  # learning rate of a softmax head, which starts untrained
    warmup: float = 0.1
    max_norm: float = 1.0
    seed: int = 0
    average: float = 0.0  # share of the mean of the weights that an update keeps, below 1; the mean is evaluated and kept. 0: none

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            _within(name.replace("_", " "), getattr(self, name), low, high)
        _within("learning rate of the head", self.head_rate, 1e-8, 1)
        _within("warm-up", self.warmup, 0, 1)
        _within("gradient norm", self.max_norm, 1e-6, 1e6)
        _within("share of the mean", self.average, 0, 0.9999)


def _within(name: str, value: float, low: float, high: float) -> None:
    if not (isinstance(value, (int, float)) and low <= value <= high):
        raise UserError(f"The {name} must lie in {low:g}..{high:g}, got {value!r}.")


@dataclass(frozen=True)
class Objective:
    """An objective as shown to users. `kinds`: the kinds of examples it can learn from, see `columns.KINDS`."""

    name: str
    title: str
    paper: bool
    kinds: tuple[str, ...]
    advice: str


OBJECTIVES = {
    objective.name: objective
    for objective in (
        Objective(
            "classification", "Softmax classification", True, ("labelled",),
            "The paper's choice for labels such as entailment, neutral, contradiction. Needs thousands of pairs.",
        ),
        Objective(
            "regression", "Cosine regression", True, ("scored", "labelled"),
            "The cosine learns to equal a graded score, as in the paper; of labels, 1 for the same and 0 for others, unlike there.",
        ),
        Objective("triplet", "Triplet", True, ("triplets",), "The paper's choice for anchor, positive, negative."),
        Objective(
            "cosent", "CoSENT", False, ("scored", "labelled"),
            "Only the order of the scores counts: it refines an order that is nearly right, but cosines may crowd together.",
        ),
        Objective(
            "ranking", "Multiple negatives ranking", False, ("positives", "triplets", "labelled"),
            "All other sentences of a batch count as wrong answers: the best for search, and the only one without labels.",
        ),
        Objective(
            "angle", "CoSENT with angles (AnglE)", False, ("scored", "labelled"),
            "CoSENT of the cosines and of angles, which tell pairs apart whose cosines are near 1 or 0.",
        ),
        Objective(
            "contrastive", "Online contrastive", False, ("labelled",),
            "For yes and no: draws the same together and others apart, and learns from the hard pairs of each batch alone.",
        ),
        Objective(
            "guided", "Guided ranking (GIST)", False, ("positives", "triplets", "labelled"),
            "Multiple negatives ranking, but what the model found nearer than the right answer before training is no wrong answer.",
        ),
        Objective(
            "pair", "Binary cross-entropy of the pair", False, (),
            "How a cross-encoder is trained: its score learns to equal the pair's score, or 1 (the same) or 0.",
        ),
    )
}  # fmt: skip

PAIR_OBJECTIVE, PAIR_KINDS = "pair", ("scored", "labelled")  # of a cross-encoder, and what it learns from
OF_SIMILARITY = ("regression", "cosent", "ranking")  # objectives that compare two sentences by their similarity alone


def check_of_similarity(name: str) -> None:
    """Raise UserError for an objective that needs one embedding a sentence: a poly-encoder's similarity is all that it has."""
    if name not in OF_SIMILARITY:
        raise UserError(f"A poly-encoder cannot be trained with the objective '{name}'. Use one of {', '.join(OF_SIMILARITY)}.")


@dataclass(frozen=True)
class ObjectiveOptions:
    """Settings of the objectives; each objective reads its own."""

    concatenation: str = PAPER_CONCATENATION
    margin: float = 1.0
    distance: str = "euclidean"
    scale: float = SCALE

    def __post_init__(self) -> None:
        if self.concatenation not in CONCATENATIONS:
            raise ValueError(f"unknown concatenation {self.concatenation!r}, must be one of {', '.join(CONCATENATIONS)}")
        if self.distance not in DISTANCES:
            raise ValueError(f"unknown distance {self.distance!r}, must be one of {', '.join(DISTANCES)}")
        if not 0 < self.margin <= 100 or not 0 < self.scale <= 1000:
            raise ValueError(f"margin must lie in 0..100 and scale in 0..1000, got {self.margin} and {self.scale}")
