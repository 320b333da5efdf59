"""The job evaluate: systems measured on labelled examples."""

from collections.abc import Iterator
from dataclasses import dataclass

from sbert_app.jobs.job import Call, Job, Needs, Outcome, Step, cross_encoder_option, model_option
from sbert_app.jobs.option import names, option
from sbert_app.jobs.remarks import remarks
from sbert_app.models.registry import DEFAULT_CROSS_ENCODER
from sbert_app.services.evaluation import SBERT, SYSTEMS


@dataclass(frozen=True)
class EvaluateOptions:
    model: str = model_option()
    systems: list[str] = option(f"Of {', '.join(SYSTEMS)}; in the shell with commas.", names("systems"), [SBERT])
    cross_encoder: str = cross_encoder_option(DEFAULT_CROSS_ENCODER, "The cross-encoder of that system.")


def evaluate(call: Call, options: EvaluateOptions) -> Iterator[Step | Outcome]:
    """Measure systems on labelled pairs or triplets: Spearman, or the measure that fits the columns.

    Returns:
        Per system: model, the measures as fractions (spearman and pearson; average_precision, accuracy and f1; or
        triplet_accuracy), sentences, seconds.
    """
    service = call.services.evaluation
    reading = service.read(call.the_table())
    yield from map(Step, remarks(reading))
    systems = options.systems or [SBERT]
    results = service.evaluate(reading.examples, options.model, systems, options.cross_encoder, visitor=call.visitor)
    summary = {r.system: {"model": r.model, **r.measures, "sentences": r.sentences, "seconds": r.seconds} for r in results}
    lines = [
        f"{r.system:14} " + "  ".join(f"{name} {100 * value:.2f}" for name, value in r.measures.items())
        + f"  ({len(reading.examples):,} examples, {r.seconds:.1f} s)"
        for r in results
    ]  # fmt: skip
    yield Outcome(summary, lines)


EVALUATE = Job("evaluate", Needs.LABELLED, EvaluateOptions, evaluate, "evaluate")
