"""What a run records while it trains, its events, and at the end, its result; and the run as it is at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, get_args, get_type_hints

from sbert_app.evaluation.verdict import Change, Verdict
from sbert_app.labelled.example_set import Separation
from sbert_app.runs.plan import Plan

WAITING, RUNNING, INTERRUPTED = "waiting", "running", "interrupted"
FINISHED, STOPPED, FAILED = "finished", "stopped", "failed"
DAMAGED = "damaged"  # its plan cannot be read: it can only be deleted
STATES = (WAITING, RUNNING, INTERRUPTED, FINISHED, STOPPED, FAILED)
Record = TypeVar("Record")


@dataclass(frozen=True)
class Baseline:
    """The dev score before training, at step 0."""

    step: int
    score: float


@dataclass(frozen=True)
class Loss:
    """The mean loss since the last such event, after `step` of `steps`. seconds: of work so far."""

    step: int
    seconds: float
    pairs_per_second: float
    loss: float
    steps: int


@dataclass(frozen=True)
class DevScore:
    """The dev score after `step` updates. best: the highest so far, whose weights are kept."""

    step: int
    seconds: float
    pairs_per_second: float
    score: float
    best: bool


@dataclass(frozen=True)
class Kept:
    """Stopped early: the best checkpoint, which is evaluated now."""

    step: int
    score: float


@dataclass(frozen=True)
class CurveBegun:
    """The learning curve begins: another model is trained on half of the examples."""

    step: int = 0


@dataclass(frozen=True)
class Tried:
    """The dev score of an objective after a short training, from which the run's own takes nothing but the choice."""

    objective: str
    score: float
    step: int = -1  # before the first step: a run that starts over keeps it


@dataclass(frozen=True)
class Lent:
    """A GPU was lent for a slice of the training. asked, used: seconds; refused: why it was not, or taken away, else ""."""

    asked: int
    used: float
    refused: str = ""
    step: int = -1  # before the first step: a run that starts over keeps it


Event = Lent | Tried | Baseline | Loss | DevScore | Kept | CurveBegun
Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True)
class Parts:
    """How many examples each part has."""

    train: int
    dev: int
    held_out: int


@dataclass(frozen=True)
class LearningCurve:
    """How a measure changes from training on half of the examples to training on all of them."""

    half: int
    whole: int
    change: Change


@dataclass(frozen=True)
class HeadAccuracy:
    """Accuracy of the softmax head on the held-out pairs, and the share of the most frequent label."""

    accuracy: float
    majority: float


@dataclass(frozen=True)
class Harm:
    """What training changed beside its purpose."""

    general: Verdict  # on everyday pairs
    moved: float | None  # the share of near neighbours that are others, None for a cross-encoder


@dataclass(frozen=True)
class Against:
    """An encoder whose cosines a trained cross-encoder was compared with; in the verdict, they are what was before."""

    encoder: str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run leaves beside its model. What has a default is missing in results of older versions, or for some objectives."""

    verdict: Verdict
    before: list[float]  # the prediction of each held-out example
    after: list[float]
    parts: Parts
    split: Separation | None = None
    shared: int = 0  # held-out sentences that training has too
    dev_before: float | None = None  # the dev score before training
    best_step: int
    steps: int
    curve: LearningCurve | None = None
    head: HeadAccuracy | None = None
    harm: Harm | None = None
    against: Against | None = None
    seconds: float = 0.0  # of training
    pairs_per_second: float = 0.0
    device: str = ""
    stopped: bool = False
    tried: dict[str, float] = field(default_factory=dict)  # the dev score of each objective that was tried, in this order
    objective: str = ""  # that was trained with
    cut: float = 0.0  # the share of the examples for training that the model did not read to their end


@dataclass(frozen=True)
class RunInfo:
    """One row of the list of runs. file, fingerprint: of the examples; file is "" for runs of older versions."""

    id: str
    name: str
    state: str
    message: str
    created: str
    owner: str
    has_model: bool
    file: str = ""
    fingerprint: str = ""
    has_checkpoint: bool = False
    named: Mapping[str, str] | None = field(default_factory=dict)  # options by which a command reads them in it, None: none do

    @property
    def live(self) -> bool:
        return self.state in (WAITING, RUNNING)

    @property
    def model(self) -> str:
        """The trained model's name in the registry."""
        return f"runs/{self.id}"


@dataclass(frozen=True)
class RunState:
    """Everything that a run's folder says of it, read at one moment. shared: held-out sentences that occur in training."""

    info: RunInfo
    plan: Plan
    events: list[Event]
    result: RunResult | None
    kind: str  # of the examples
    separation: Separation
    shared: int
    stopping: bool = False  # asked to, not ended

    def of(self, kind: type[Kind]) -> list[Kind]:
        """The events of one type."""
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(frozen=True)
class RunOverview:
    """A run with its verdict and size. verdict: None before the end; plan: None if the run is damaged."""

    info: RunInfo
    plan: Plan | None
    objective: str  # that was taken of those tried, "" before that and in older versions
    verdict: Verdict | None
    nbytes: int


def from_json(kind: type[Record], content: Mapping[str, Any]) -> Record:
    """The dataclass that `asdict` made this of. Ignores other keys; raises TypeError if one without a default is missing."""
    hints = get_type_hints(kind)
    names = [entry.name for entry in fields(kind) if entry.name in content]  # type: ignore[arg-type]
    return kind(**{name: _value(hints[name], content[name]) for name in names})


def _value(hint: Any, content: Any) -> Any:
    inner: Any = next((kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)), None)
    if inner is None or content is None:
        return content
    return tuple(from_json(inner, item) for item in content) if isinstance(content, list) else from_json(inner, content)
