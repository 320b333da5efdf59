"""The settings of a run, with three presets, and an estimate of its time: a throwaway copy is trained for a few batches."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from sbert_app.errors import UserError
from sbert_app.labelled.columns import KINDS
from sbert_app.labelled.example_set import Examples
from sbert_app.labelled.labels import clearly_closer
from sbert_app.labelled.splits import Split
from sbert_app.models.files.finding import NEW_POLY
from sbert_app.models.files.listing import is_untrained
from sbert_app.training import options as training_options
from sbert_app.training.options import OBJECTIVES, PAIR_OBJECTIVE, ObjectiveOptions, TrainingOptions

if TYPE_CHECKING:
    from sbert_app.models.engine.hardware import Hardware
    from sbert_app.training.crossing import Trained

QUICK, THOROUGH, BEST, PAPER = "quick", "thorough", "best for my data", "as in the paper"
PAPER_OBJECTIVES = {"scored": "regression", "labelled": "classification", "triplets": "triplet", "positives": "ranking"}
PRESETS = (QUICK, THOROUGH, BEST, PAPER)
TRIED = {  # by "best for my data", the first as long as none is clearly better; it is that of the other presets, but see REFINING
    "scored": ("regression", "cosent", "angle"),
    "labelled": ("regression", "cosent", "contrastive", "guided"),
    "triplets": ("triplet", "ranking", "guided"),
    "positives": ("ranking", "guided"),
}
REFINING = "cosent"  # in its place where labelled pairs that are the same share more words: it refines an order that is there
TRIAL_UPDATES = 80  # of each
CLEARLY = 0.01  # of a dev score: half a thousandth once chose an objective that lost 4.4 points
AVERAGE = 0.98  # of "best for my data": the mean of about the last fifty updates
POLY_OBJECTIVES = {"classification": "regression", "triplet": "ranking"}  # in the place of those that need one embedding
PAIR_RATE = 2e-5  # of a cross-encoder: at 5e-5 it forgot what it knew of other pairs
UNTRAINED_BATCH, UNTRAINED_RATE = 64, 1e-3  # for a network that starts with random weights
CURVE_MOST = 3_000  # most training examples for which a learning curve is the default
WARM_UP_BATCHES, TIMED_BATCHES = 1, 4
TRAIN_SAMPLE, DEV_SAMPLE = 1_024, 64


@dataclass(frozen=True)
class Plan:
    """Settings of one run, saved with it to resume it and to fill in its model card."""

    base: str
    objective: str
    options: TrainingOptions = field(default_factory=TrainingOptions)
    adjust: ObjectiveOptions = field(default_factory=ObjectiveOptions)
    learning_curve: bool = True
    tries: tuple[str, ...] = ()  # objectives to train with for a short time, to choose one by its dev score
    encoder: str = ""  # where the base is a cross-encoder, whose cosines it is compared with

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise UserError(f"Unknown objective {self.objective!r}. Must be one of {', '.join(OBJECTIVES)}.")

    def check(self, kind: str) -> None:
        """Raise UserError if the objective cannot learn from this kind of examples."""
        if bool(self.encoder) != (self.objective == PAIR_OBJECTIVE):
            raise UserError(f"The objective '{PAIR_OBJECTIVE}' is for a cross-encoder, and its only one. Leave the objective out.")
        if self.encoder and kind not in training_options.PAIR_KINDS:
            raise UserError(f"A cross-encoder learns from pairs with a score or a label, not from {KINDS[kind].lower()}.")
        if not self.encoder and kind not in OBJECTIVES[self.objective].kinds:
            fitting = ", ".join(o.name for o in OBJECTIVES.values() if kind in o.kinds)
            raise UserError(f"The objective '{self.objective}' cannot learn from {KINDS[kind].lower()}. Use {fitting}.")
        if self.base == NEW_POLY:
            training_options.check_of_similarity(self.objective)

    def learnt(self, train: Examples) -> Examples:
        """The training examples that the objective learns from. Raises UserError if there are none."""
        if not len(learnt := train.for_ranking() if self.objective in TRIED["positives"] else train):
            raise UserError(f"The objective '{self.objective}' learns from pairs that mean the same; no pair for training does.")
        return learnt

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Plan":
        nested = {"options": TrainingOptions(**content["options"]), "adjust": ObjectiveOptions(**content["adjust"])}
        return cls(**content | nested | {"tries": tuple(content.get("tries", ()))})

    def trial(self, objective: str, examples: int) -> tuple["Plan", int]:
        """The short training that tries an objective, and on how many of the training examples."""
        read = TRIAL_UPDATES * self.options.batch_size
        return replace(self, objective=objective, options=replace(self.options, epochs=-(-read // examples))), min(examples, read)

    def chosen(self, tried: Mapping[str, float]) -> str:
        """The objective to train with: of those tried the first, unless the best dev score is clearly better than its."""
        first, best = next(iter(tried), self.objective), max(tried, key=lambda name: tried[name], default=self.objective)
        return best if tried and tried[best] > tried[first] + CLEARLY else first


def preset_for(examples: Examples, name: str, base: str, encoder: str = "") -> Plan:
    """The plan of a preset for these training examples."""
    refines = examples.kind == "labelled" and clearly_closer(1, 0, examples.gold, examples.sentences)
    return preset(name, examples.kind, len(examples), base, encoder, refines)


def preset(name: str, kind: str, examples: int, base: str, encoder: str = "", refines: bool = False) -> Plan:
    """The plan of a preset, for this number and kind of training examples. An untrained base learns in larger steps.

    refines: labelled pairs that are the same share more words than the others, so a trained model ranks them well before. Where
    labels mean something else, regression teaches it, and REFINING does not (docs/evaluation.md).
    """
    if name not in PRESETS:
        raise UserError(f"Unknown preset {name!r}. Must be one of {', '.join(PRESETS)}.")
    if name == PAPER:  # section 3.1: batch 16, Adam, 2e-5, warm-up 10 %; NLI and triplets one epoch, STSb four
        objective, epochs = PAPER_OBJECTIVES[kind], 4 if kind == "scored" else 1
        options = TrainingOptions(epochs, batch_size=16, learning_rate=2e-5, head_rate=2e-5)
    else:
        updates, least, most = (150, 1, 10) if name == QUICK else (450, 3, 20)  # with fewer, a small file teaches little
        objective, batch = REFINING if refines and not is_untrained(base) else TRIED[kind][0], 16 if examples < 2_000 else 32
        epochs = max(least, min(most, -(-updates * batch // max(1, examples))))
        options = TrainingOptions(epochs, batch_size=batch, learning_rate=5e-5, average=AVERAGE if name == BEST else 0.0)
    tries = tuple(sorted(TRIED[kind], key=lambda each: each != objective)) if name == BEST else ()
    plan = Plan(base, objective, options, learning_curve=name == PAPER or examples <= CURVE_MOST, tries=tries, encoder=encoder)
    if encoder:
        return replace(plan, objective=PAIR_OBJECTIVE, tries=(), options=replace(options, learning_rate=PAIR_RATE))
    if base == NEW_POLY:
        fitting = tuple(each for each in tries if each in training_options.OF_SIMILARITY)
        return replace(plan, objective=POLY_OBJECTIVES.get(objective, objective), tries=fitting)
    if not is_untrained(base):
        return plan
    adjust = ObjectiveOptions(concatenation=training_options.INFERSENT_CONCATENATION)
    options = replace(options, batch_size=UNTRAINED_BATCH, learning_rate=UNTRAINED_RATE, head_rate=UNTRAINED_RATE)
    return replace(plan, options=options, adjust=adjust)


@dataclass(frozen=True)
class TrainingEstimate:
    """Expected seconds of a run, extrapolated from a few batches timed on this machine at its current load."""

    pairs_per_second: float
    training: float
    evaluations: float
    learning_curve: float
    batches: int
    cut: float = 0.0  # the share of the examples that the model does not read to their end

    @property
    def seconds(self) -> float:
        return self.training + self.evaluations + self.learning_curve


def estimate(split: Split, plan: Plan, load: "Callable[[str], Trained]", hardware: "Hardware") -> Iterator[TrainingEstimate | None]:
    """Yield None after each batch, then the estimate. The trained copy is discarded."""
    from sbert_app.training.crossing import build_trainee
    from sbert_app.training.trainee import BatchLoss
    from sbert_app.training.trainer import Trainer

    generator = np.random.default_rng(0)
    learnt = plan.learnt(split.train)
    sizes = (learnt, TRAIN_SAMPLE), (split.dev, DEV_SAMPLE)
    train, dev = (part.take(generator.permutation(len(part))[:most]) for part, most in sizes)
    trainee = build_trainee(load(plan.base), plan.objective, plan.adjust, train, dev)
    trainer = Trainer(trainee, plan.options, hardware)
    yield None
    start, seconds, examples, batches = time.perf_counter(), 0.0, 0, 0
    for event in islice((e for e in trainer.run() if isinstance(e, BatchLoss)), WARM_UP_BATCHES + TIMED_BATCHES):
        if event.step > min(WARM_UP_BATCHES, trainer.steps - 1):  # a run of one batch is timed without a warm-up
            seconds += time.perf_counter() - start
            examples, batches = examples + event.examples, batches + 1
        yield None
        start = time.perf_counter()
    start = time.perf_counter()
    for score in trainee.evaluate():
        if score is None:
            yield None
    dev_seconds = (time.perf_counter() - start) / max(1, len(dev))
    rate = examples / seconds
    training = len(learnt) * plan.options.epochs / rate
    trials = len(plan.tries) * TRIAL_UPDATES * plan.options.batch_size / rate
    evaluations = dev_seconds * ((trainer.evaluations + 1) * len(split.dev) + 2 * len(split.held_out))
    curve = (training + evaluations) / 2 if plan.learning_curve else 0.0
    yield TrainingEstimate(rate, trials + training, evaluations, curve, batches, trainee.cut)


def cut_warning(cut: float) -> str:
    """That examples are cut, "" for none. cut: their share."""
    share = max(1, round(100 * cut))
    return f"{share} % of the examples hold a text longer than the model reads: only its beginning is learnt." if cut else ""
