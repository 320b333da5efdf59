"""Another model's score of two sentences: a second opinion beside the encoder's cosine."""

import time
from dataclasses import dataclass

from sbert_app.explain.scale import Scale
from sbert_app.models.files.trained_for import Bounds, check_one_score
from sbert_app.runtime.workbench import Workbench


@dataclass(frozen=True)
class ModelScore:
    """Another model's score of the same two sentences: a cross-encoder's score or another encoder's cosine.

    `milliseconds` are those of the model alone, without waiting. A cross-encoder has no scale, but `trained_for` and `bounds`: the
    lowest and the highest score, None for logits.
    """

    model: str
    score: float
    milliseconds: float
    kind: str = "encoder"
    trained_for: str = ""
    bounds: Bounds | None = None
    in_words: str = ""
    scale: Scale | None = None

    @property
    def percentile(self) -> float | None:
        """Percentage of random pairs that score lower under this model."""
        return self.scale.random.percentile(self.score) if self.scale else None


def second_opinion(bench: Workbench, pair: tuple[str, str], name: str) -> ModelScore:
    """Score a pair with the cross-encoder or poly-encoder of that name. Raises UserError for one that gives no single score."""
    cross = bench.registry.pair_scorer(name)
    check_one_score(cross)
    with bench.device.hold(short=True):
        start = time.perf_counter()
        score = float(cross.score([pair])[0])
        milliseconds = (time.perf_counter() - start) * 1e3
    return ModelScore(name, score, milliseconds, cross.kind, cross.trained_for, cross.bounds)
