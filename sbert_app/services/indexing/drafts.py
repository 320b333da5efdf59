"""Measure what a draft loses on a person's own sentences, beside the model that it is a draft of."""

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sbert_app.evaluation.similarity import draft_loss
from sbert_app.models.defaults import full_name, is_draft
from sbert_app.runtime.workbench import Workbench
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

SAMPLE = 200  # sentences, spread over the corpus


def loss_in_words(bench: Workbench, encoder: "Encoder", sentences: Sequence[str]) -> str:
    """A sentence with the measured loss, "" for an encoder that is no draft. Embeds the sample with both models."""
    if not is_draft(encoder.name):
        return ""
    distinct = list(dict.fromkeys(sentences))
    sample = distinct[:: -(-len(distinct) // SAMPLE)]
    full = bench.registry.encoder(full_name(encoder.name))
    return f"Draft in int8, {draft_loss(_embedded(bench, full, sample), _embedded(bench, encoder, sample))}."


def _embedded(bench: Workbench, encoder: "Encoder", sentences: Sequence[str]) -> Vectors:
    """As a corpus is embedded, so that the cache serves both."""
    job = bench.embedder.job(encoder, sentences)
    deque(job.run(), maxlen=0)  # run to the end
    return job.embeddings
