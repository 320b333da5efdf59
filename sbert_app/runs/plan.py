"""The settings of a run: base model, objective and options, with three presets."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sbert_app.errors import UserError
from sbert_app.labelled.columns import KINDS
from sbert_app.models.words.untrained import NEW_POLY, is_untrained
from sbert_app.training.options import INFERSENT_CONCATENATION, OBJECTIVES, ObjectiveOptions, Options, check_of_similarity

QUICK, THOROUGH, PAPER = "quick", "thorough", "as in the paper"
PAPER_OBJECTIVES = {"scored": "regression", "labelled": "classification", "triplets": "triplet", "positives": "ranking"}
PRESETS = (QUICK, THOROUGH, PAPER)
SMALL_OBJECTIVES = {"scored": "regression", "labelled": "regression", "triplets": "triplet", "positives": "ranking"}
POLY_OBJECTIVES = {"classification": "regression", "triplet": "ranking"}  # in the place of those that need one embedding
UNTRAINED_BATCH, UNTRAINED_RATE = 64, 1e-3  # for a network that starts with random weights
CURVE_MOST = 3_000  # most training examples for which a learning curve is the default


@dataclass(frozen=True)
class Plan:
    """Settings of one run, saved with it to resume it and to fill in its model card."""

    base: str
    objective: str
    options: Options = field(default_factory=Options)
    adjust: ObjectiveOptions = field(default_factory=ObjectiveOptions)
    learning_curve: bool = True

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise UserError(f"Unknown objective {self.objective!r}. Must be one of {', '.join(OBJECTIVES)}.")

    def check(self, kind: str) -> None:
        """Raise UserError if the objective cannot learn from this kind of examples."""
        objective = OBJECTIVES[self.objective]
        if kind not in objective.kinds:
            fitting = ", ".join(o.name for o in OBJECTIVES.values() if kind in o.kinds)
            raise UserError(f"The objective '{self.objective}' cannot learn from {KINDS[kind].lower()}. Use {fitting}.")
        if self.base == NEW_POLY:
            check_of_similarity(self.objective)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Plan":
        return cls(**content | {"options": Options(**content["options"]), "adjust": ObjectiveOptions(**content["adjust"])})


def preset(name: str, kind: str, examples: int, base: str) -> Plan:
    """The plan of a preset, for this number and kind of training examples. An untrained base learns in larger steps."""
    plan = _preset(name, kind, examples, base)
    if base == NEW_POLY:
        return replace(plan, objective=POLY_OBJECTIVES.get(plan.objective, plan.objective))
    if not is_untrained(base):
        return plan
    adjust = ObjectiveOptions(concatenation=INFERSENT_CONCATENATION)
    options = replace(plan.options, batch_size=UNTRAINED_BATCH, learning_rate=UNTRAINED_RATE, head_rate=UNTRAINED_RATE)
    return replace(plan, options=options, adjust=adjust)


def _preset(name: str, kind: str, examples: int, base: str) -> Plan:
    if name == PAPER:  # section 3.1: batch 16, Adam, 2e-5, warm-up 10 %; NLI and triplets one epoch, STSb four
        epochs = 4 if kind == "scored" else 1
        return Plan(base, PAPER_OBJECTIVES[kind], Options(epochs=epochs, batch_size=16, learning_rate=2e-5, head_rate=2e-5))
    if name not in (QUICK, THOROUGH):
        raise UserError(f"Unknown preset {name!r}. Must be one of {', '.join(PRESETS)}.")
    updates = 150 if name == QUICK else 450  # with fewer, a small file teaches little
    batch = 16 if examples < 2_000 else 32
    epochs = max(1 if name == QUICK else 3, min(10 if name == QUICK else 20, -(-updates * batch // max(1, examples))))
    options = Options(epochs=epochs, batch_size=batch, learning_rate=5e-5)
    return Plan(base, SMALL_OBJECTIVES[kind], options, learning_curve=examples <= CURVE_MOST)
