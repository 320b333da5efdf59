"""The same rows under another model: embed them, move the map from where it is, and measure what changed."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from sbert_app.corpus.filters import label_columns
from sbert_app.corpus_map.projecting import Projecting
from sbert_app.corpus_map.result import Ground, Moved
from sbert_app.mapping.drift import drift, same_label
from sbert_app.mapping.neighbours import NeighbourIndex
from sbert_app.mapping.projection import NEIGHBOURS
from sbert_app.runtime.embedding import EmbeddingJob
from sbert_app.runtime.line import Line
from sbert_app.runtime.stop import Stop
from sbert_app.vectors import unit_rows


@dataclass(frozen=True)
class Comparing:
    """How far a comparison is: sentences embedded, or epochs of the projection."""

    stage: str
    done: int
    total: int


def drawn_sentences(ground: Ground) -> list[str]:
    """The sentences of the rows on the map, in their order."""
    return [ground.indexed.corpus.sentences[row] for row in ground.drawn.tolist()]


def compare(ground: Ground, model: str, job: EmbeddingJob, line: Line, stop: Stop) -> Iterator[Comparing | Moved]:
    """Embed the `drawn_sentences` with the other model by `job`, then move the map; the last item says what moved.

    Stopped, there is no last item.
    """
    with closing(job.run()) as batches:
        for done in batches:
            yield Comparing("Embedding with the other model", done, len(ground.drawn))
            if stop.is_set():
                return
    vectors = unit_rows(job.embeddings)
    points = ground.points[ground.drawn]
    work = Projecting(vectors, points)
    for stage in work.watch(line, stop):
        yield Comparing(stage, work.layout.done, work.layout.epochs)
    if stop.is_set() or work.near is None:
        return
    before = ground.near or NeighbourIndex(ground.indexed.embeddings[ground.drawn]).search(
        ground.indexed.embeddings[ground.drawn], NEIGHBOURS
    )
    labels = {}
    for column, values in label_columns(ground.indexed.corpus.metadata).items():
        codes = np.unique(values[ground.drawn].astype(str), return_inverse=True)[1]
        labels[column] = same_label(before, codes), same_label(work.near, codes)
    yield Moved(model, drift(points, work.layout.points, before, work.near), labels)
