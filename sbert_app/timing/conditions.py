"""What a race measures, on which machine, and when."""

from collections.abc import Sequence
from datetime import date

from sbert_app.models.comparable import same_backbone, size_of
from sbert_app.models.cross_encoder import CrossEncoder
from sbert_app.models.encoder import Encoder
from sbert_app.models.engine.hardware import machine
from sbert_app.timing.result import Conditions


def conditions_of(
    corpus: str, sentences: Sequence[str], encoder: Encoder, cross: CrossEncoder, trained: bool, notes: tuple[str, ...] = ()
) -> Conditions:
    """The conditions of a race on these sentences, today. trained: whether the cross-encoder's head is."""
    return Conditions(
        corpus=corpus,
        sentences=len(sentences),
        encoder=encoder.name,
        cross_encoder=cross.name,
        head_trained=trained,
        same_backbone=same_backbone(encoder, cross),
        machine=machine(),
        hardware=encoder.runs_on,
        max_tokens=(encoder.max_length, cross.max_length),
        date=date.today().isoformat(),
        notes=notes,
        trained_for=cross.trained_for,
        sizes=(size_of(encoder), size_of(cross)),
    )
