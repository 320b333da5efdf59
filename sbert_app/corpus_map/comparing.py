"""Compare a map with another model: embed its rows again, move the points from where they are, measure the change."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from sbert_app.corpus.filters import label_columns
from sbert_app.corpus_map.projecting import ProjectionThread
from sbert_app.corpus_map.result import ModelComparison, Projection
from sbert_app.mapping.drift import drift, same_label
from sbert_app.mapping.neighbours import NeighbourIndex
from sbert_app.mapping.projection import NEIGHBOURS
from sbert_app.runtime.embedding import EmbeddingJob
from sbert_app.runtime.line import Line
from sbert_app.runtime.stop import Stop
from sbert_app.vectors import unit_rows


@dataclass(frozen=True)
class ComparisonProgress:
    """Progress of a comparison: sentences embedded, or epochs of the projection."""

    stage: str
    done: int
    total: int


def drawn_sentences(projection: Projection) -> list[str]:
    """The sentences of the rows on the map, in their order."""
    return [projection.indexed.corpus.sentences[row] for row in projection.drawn.tolist()]


def compare(
    projection: Projection, model: str, job: EmbeddingJob, line: Line, stop: Stop
) -> Iterator[ComparisonProgress | ModelComparison]:
    """Embed the `drawn_sentences` by `job` and project them again. Yields progress, at last the comparison unless stopped."""
    with closing(job.run()) as batches:
        for done in batches:
            yield ComparisonProgress("Embedding with the other model", done, len(projection.drawn))
            if stop.is_set():
                return
    vectors = unit_rows(job.embeddings)
    points = projection.points[projection.drawn]
    thread = ProjectionThread(vectors, points)
    for stage in thread.watch(line, stop):
        yield ComparisonProgress(stage, thread.layout.done, thread.layout.epochs)
    if stop.is_set() or thread.near is None:
        return
    before = projection.near or NeighbourIndex(projection.indexed.embeddings[projection.drawn]).search(
        projection.indexed.embeddings[projection.drawn], NEIGHBOURS
    )
    labels = {}
    for column, values in label_columns(projection.indexed.corpus.metadata).items():
        codes = np.unique(values[projection.drawn].astype(str), return_inverse=True)[1]
        labels[column] = same_label(before, codes), same_label(thread.near, codes)
    yield ModelComparison(model, drift(points, thread.layout.points, before, thread.near), labels)
