"""The job evaluate: measure systems on labelled examples."""

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
    systems: list[str] = option(f"Any of {', '.join(SYSTEMS)}; in the shell separated by commas.", names("systems"), [SBERT])
    cross_encoder: str = cross_encoder_option(DEFAULT_CROSS_ENCODER, "The model of the system cross-encoder.")


def evaluate(call: Call, options: EvaluateOptions) -> Iterator[Step | Outcome]:
    """Evaluate systems on labelled pairs or triplets: Spearman, or the measures that fit the columns.

    Returns:
        For each system: model, measures as fractions (spearman, pearson; average_precision, accuracy, f1; or
        triplet_accuracy), sentences, seconds.
    """
    service = call.services.evaluation
    reading = service.read(call.required_table())
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
