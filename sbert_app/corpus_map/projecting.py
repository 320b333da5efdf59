"""Project a corpus to points: its own columns x and y, or PCA at once, then UMAP in a thread; and again with another model."""

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sbert_app.corpus.filters import label_columns
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.result import ModelComparison, Projection
from sbert_app.mapping import projection
from sbert_app.mapping.clusters import sample_of
from sbert_app.mapping.projection import NEIGHBOURS, NeighbourIndex, Neighbours, Points, UmapLayout, aligned, kept, same_label
from sbert_app.runtime.device import EmbeddingJob
from sbert_app.runtime.line import Line, Stop, place_in_line
from sbert_app.step import Step
from sbert_app.vectors import Integers, Vectors, unit_rows

MOST_FITTED = 100_000  # rows; of a larger corpus a sample is projected, and the others are placed among it
PLACED_AT_ONCE = 10_000
POLL_SECONDS = 0.2  # between two readings of a running projection
OWN_COLUMNS = ("x", "y")


@dataclass(frozen=True)
class Points2D:
    """The points of the `drawn` rows at this moment, (m, 2), after `done` of `total` epochs; `stage` is a text for the screen."""

    stage: str
    drawn: Integers
    points: Points
    done: int = 0
    total: int = 1


def project(indexed: IndexedCorpus, line: Line, stop: Stop) -> Iterator[Points2D | Projection]:
    """Yield points as they move, the first within milliseconds, at last the projection, unfinished if stopped."""
    drawn = fitted_rows(len(indexed.embeddings))
    if (points := own_points(indexed)) is not None:
        yield Projection(indexed, points, drawn, "the corpus's own columns x and y", {})
        return
    start = time.perf_counter()
    vectors = np.ascontiguousarray(indexed.embeddings[drawn])
    first = projection.preview(vectors)
    seconds = {"preview": time.perf_counter() - start}
    yield Points2D("Preview: principal components. UMAP starts from here", drawn, first)
    flat = projection.flat(vectors)
    if flat or len(vectors) < projection.LEAST_ROWS:
        method = "a spiral: all embeddings are equal" if flat else f"principal components: {len(vectors)} rows are too few for UMAP"
        yield Projection(indexed, first, drawn, method, seconds)
        return
    thread = ProjectionThread(vectors, first)
    for stage in thread.watch(line, stop):
        yield Points2D(stage, drawn, thread.layout.points.copy(), thread.layout.done, thread.layout.epochs)
    yield _projection(indexed, drawn, thread, seconds)


def fitted_rows(rows: int) -> Integers:
    """The rows that are projected: all of them, or a seeded sample in file order."""
    return np.arange(rows) if rows <= MOST_FITTED else sample_of(rows, MOST_FITTED)


def own_points(indexed: IndexedCorpus) -> Points | None:
    """The columns x and y as scaled points, (n, 2); None unless every row has numbers in both."""
    columns = {str(column).strip().lower(): str(column) for column in indexed.corpus.metadata.columns}
    if not all(name in columns for name in OWN_COLUMNS):
        return None
    cells = (indexed.corpus.metadata[columns[name]] for name in OWN_COLUMNS)
    points = np.stack([pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64) for column in cells], axis=1)
    return projection.scaled(points) if np.isfinite(points).all() else None


def _projection(indexed: IndexedCorpus, drawn: Integers, thread: "ProjectionThread", seconds: dict[str, float]) -> Projection:
    """The points of all rows: those outside the sample are placed among it."""
    done, epochs = thread.layout.done, thread.layout.epochs
    method = f"UMAP, {NEIGHBOURS} neighbours by cosine, {epochs} epochs from PCA, seed {projection.SEED}"
    if thread.index is not None and not thread.index.exact:
        method += ", the neighbours approximate"
    if done < epochs:
        method = f"UMAP stopped after {done} of {epochs} epochs" if done else "principal components: stopped before UMAP began"
    points, total = thread.layout.points, len(indexed.embeddings)
    notes: tuple[str, ...] = ()
    if len(drawn) < total:
        start = time.perf_counter()
        index, placed = thread.index or NeighbourIndex(thread.vectors), np.empty((total, 2), np.float32)
        placed[drawn] = points
        others = np.setdiff1d(np.arange(total), drawn, assume_unique=True)
        for first in range(0, len(others), PLACED_AT_ONCE):
            rows = others[first : first + PLACED_AT_ONCE]
            placed[rows] = projection.placed(index.search(indexed.embeddings[rows], NEIGHBOURS).rows, points)
        points, seconds = placed, seconds | {"placing": time.perf_counter() - start}
        notes = (
            f"{len(drawn):,} of {total:,} rows, drawn at random, were projected and are shown. The others lie at the median point "
            "of their nearest rows; clusters and csv include them.",
        )
    return Projection(indexed, points, drawn, method, seconds | thread.seconds, thread.near, notes)


class ProjectionThread:
    """Find neighbours, then run UMAP, in a thread, so that the points can be read while they move."""

    def __init__(self, vectors: Vectors, start: Points) -> None:
        self.vectors, self.layout = vectors, UmapLayout(start)
        self.index: NeighbourIndex | None = None
        self.near: Neighbours | None = None
        self.seconds: dict[str, float] = {}
        self._abandoned = threading.Event()
        self._error: BaseException | None = None
        self._stage = "Finding the neighbours of each row"

    def watch(self, line: Line, stop: Stop) -> Iterator[str]:
        """Run to the end or until stopped; yields the stage as text a few times a second. Raises the error of the thread."""
        thread = threading.Thread(target=self._run, args=[stop], name="map", daemon=True)
        try:
            with line.join(stop) as waiting:
                for ahead in waiting:
                    yield place_in_line(ahead, "map")
                if not stop.is_set():
                    thread.start()
                while thread.is_alive():
                    thread.join(POLL_SECONDS)
                    yield self._stage
        finally:
            self._abandoned.set()
        if self._error is not None:
            raise self._error

    def _run(self, stop: Stop) -> None:
        try:
            start = time.perf_counter()
            self.index = NeighbourIndex(self.vectors)
            self.near = self.index.search(self.vectors, NEIGHBOURS)
            begun = time.perf_counter()
            self.seconds["neighbours"] = begun - start
            if not (stop.is_set() or self._abandoned.is_set()):
                self._stage = "UMAP"
                self.layout.run(self.near, stopping=lambda: stop.is_set() or self._abandoned.is_set())
                self.seconds["UMAP"] = time.perf_counter() - begun
        except BaseException as error:
            self._error = error


def compare(projection: Projection, model: str, job: EmbeddingJob, line: Line, stop: Stop) -> Iterator[Step[ModelComparison]]:
    """Embed the drawn rows by `job` and project them again. The last step has the comparison, unless it is stopped."""
    with closing(job.run()) as batches:
        for done in batches:
            yield Step("Embedding with the other model", done, len(projection.drawn))
            if stop.is_set():
                return
    points = projection.points[projection.drawn]
    thread = ProjectionThread(unit_rows(job.embeddings), points)
    for stage in thread.watch(line, stop):
        yield Step(stage, thread.layout.done, thread.layout.epochs)
    if stop.is_set() or thread.near is None:
        return
    own = projection.indexed.embeddings[projection.drawn]
    before = projection.near or NeighbourIndex(own).search(own, NEIGHBOURS)
    labels = {}
    for column, values in label_columns(projection.indexed.corpus.metadata).items():
        codes = np.unique(values[projection.drawn].astype(str), return_inverse=True)[1]
        labels[column] = same_label(before, codes), same_label(thread.near, codes)
    moved = aligned(thread.layout.points, points)
    yield Step("Compared", result=ModelComparison(model, moved, kept(before, thread.near), labels))
