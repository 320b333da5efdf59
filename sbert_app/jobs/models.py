"""The job models: list the available models."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from sbert_app.jobs.job import Call, Job, Needs, Outcome, Step


@dataclass(frozen=True)
class ModelsOptions:
    """No options."""


def models(call: Call, options: ModelsOptions) -> Iterator[Step | Outcome]:
    """List the models that other jobs accept by name.

    Returns:
        A list of objects: name, kind ("encoder", "cross-encoder" or "poly-encoder"), origin ("bundled", "hub", "untrained" or
        "saved"), dim, available.
    """
    listed = [asdict(model) for model in call.services.bench.registry.list()]
    lines = [f"{row['name']}  {row['kind']}, {row['origin']}, {row['dim'] or '?'} dimensions" for row in listed]
    yield Outcome(listed, lines)


MODELS = Job("models", Needs.NOTHING, ModelsOptions, models, "models", quick=True)
