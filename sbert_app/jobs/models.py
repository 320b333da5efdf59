"""The job models: list the available models."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sbert_app.jobs.declaring.job import Call, Job, Needs, Outcome, Steps
from sbert_app.models.files.trained_for import in_words

if TYPE_CHECKING:
    from sbert_app.models.files.listing import ModelInfo


@dataclass(frozen=True)
class ModelsOptions:
    """No options."""


def models(call: Call, options: ModelsOptions) -> Steps:
    """List the models that other jobs accept by name.

    Returns:
        A list of objects: name, kind ("encoder", "cross-encoder" or "poly-encoder"), origin ("bundled", "hub",
        "untrained" or "saved"), dim, available, trained_for (of a cross-encoder or poly-encoder: "likeness", "answers", or "" if
        unknown), labels (outputs of a cross-encoder; only one with a single label scores pairs).
    """
    known = call.bench.registry.list()
    yield Outcome([asdict(model) for model in known], [_line(model) for model in known])


def _line(model: "ModelInfo") -> str:
    scorer = model.kind in ("cross-encoder", "poly-encoder")
    purpose = f", {in_words(model.trained_for)}" if scorer and model.origin != "untrained" else ""
    labels = f", {model.labels} labels" if model.labels not in (None, 1) else ""
    return f"{model.name}  {model.kind}, {model.origin}, {model.dim or '?'} dimensions{purpose}{labels}"


MODELS = Job("models", Needs.NOTHING, ModelsOptions, models, "models", quick=True)
