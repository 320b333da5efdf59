"""From a corpus to points: its own x and y columns, or PCA at once and UMAP from there, watched and stoppable."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sbert_app.corpus.filters import numbers
from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.corpus_map.result import Ground
from sbert_app.mapping import projection
from sbert_app.mapping.neighbours import NeighbourIndex, Neighbours
from sbert_app.mapping.projection import NEIGHBOURS, Layout, Points
from sbert_app.runtime.line import Line, place_in_line
from sbert_app.runtime.stop import Stop
from sbert_app.vectors import Vectors

MOST_FITTED = 100_000  # rows: of a larger corpus so many are projected, the others placed among them
PLACED_AT_ONCE = 10_000
LOOK = 0.2  # seconds between two looks at a projection that is running
OWN_COLUMNS = ("x", "y")


@dataclass(frozen=True)
class Points2D:
    """Where the `drawn` rows lie at this moment, (m, 2), and how many of `total` epochs are done. `stage` says it in words."""

    stage: str
    drawn: NDArray[np.int64]
    points: Points
    done: int = 0
    total: int = 1


def project(indexed: IndexedCorpus, line: Line, stop: Stop) -> Iterator[Points2D | Ground]:
    """Points while they move, the first of them in milliseconds; the last item is the ground. Stopped, it is what was reached."""
    drawn = fitted_rows(len(indexed.embeddings))
    if (own := own_points(indexed)) is not None:
        yield Ground(indexed, own, drawn, "the corpus's own columns x and y", {})
        return
    start = time.perf_counter()
    vectors = np.ascontiguousarray(indexed.embeddings[drawn])
    first = projection.preview(vectors)
    seconds = {"preview": time.perf_counter() - start}
    yield Points2D("Preview: principal components. UMAP starts from here", drawn, first)
    flat = projection.flat(vectors)
    if flat or len(vectors) < projection.LEAST_ROWS:
        method = "a spiral: all rows say the same" if flat else f"principal components: {len(vectors)} rows are too few for UMAP"
        yield Ground(indexed, first, drawn, method, seconds)
        return
    work = Projecting(vectors, first)
    for stage in work.watch(line, stop):
        yield Points2D(stage, drawn, work.layout.points.copy(), work.layout.done, work.layout.epochs)
    yield _settled(indexed, drawn, work, seconds)


def fitted_rows(rows: int) -> NDArray[np.int64]:
    """The rows that are projected: all of them, or a seeded sample in file order."""
    if rows <= MOST_FITTED:
        return np.arange(rows)
    return np.sort(np.random.default_rng(projection.SEED).choice(rows, MOST_FITTED, replace=False))


def own_points(indexed: IndexedCorpus) -> Points | None:
    """The columns x and y as points, scaled; None unless every row has numbers in both."""
    columns = {str(column).strip().lower(): str(column) for column in indexed.corpus.metadata.columns}
    if not all(name in columns for name in OWN_COLUMNS):
        return None
    both = np.stack([numbers(indexed.corpus.metadata[columns[name]]) for name in OWN_COLUMNS], axis=1)
    return projection.scaled(both) if np.isfinite(both).all() else None


def _settled(indexed: IndexedCorpus, drawn: NDArray[np.int64], work: "Projecting", seconds: dict[str, float]) -> Ground:
    """All rows in their places: those that were not fitted are placed among those that were."""
    done, epochs = work.layout.done, work.layout.epochs
    method = f"UMAP, {NEIGHBOURS} neighbours by cosine, {epochs} epochs from PCA, seed {projection.SEED}"
    if work.index is not None and not work.index.exact:
        method += ", the neighbours approximate"
    if done < epochs:
        method = f"UMAP stopped after {done} of {epochs} epochs" if done else "principal components: stopped before UMAP began"
    points, total = work.layout.points, len(indexed.embeddings)
    notes: tuple[str, ...] = ()
    if len(drawn) < total:
        start = time.perf_counter()
        points = _with_the_rest(indexed.embeddings, drawn, work.index or NeighbourIndex(work.vectors), points)
        seconds = seconds | {"placing": time.perf_counter() - start}
        notes = (
            f"{len(drawn):,} of {total:,} rows, drawn at random, were projected and are shown; the others are placed among them "
            "(median place of their nearest rows), counted in the clusters and in the csv.",
        )
    return Ground(indexed, points, drawn, method, seconds | work.seconds, work.near, notes)


def _with_the_rest(vectors: Vectors, drawn: NDArray[np.int64], index: NeighbourIndex, points: Points) -> Points:
    everywhere = np.empty((len(vectors), 2), np.float32)
    everywhere[drawn] = points
    rest = np.setdiff1d(np.arange(len(vectors)), drawn, assume_unique=True)
    for start in range(0, len(rest), PLACED_AT_ONCE):
        rows = rest[start : start + PLACED_AT_ONCE]
        everywhere[rows] = projection.placed(index.search(vectors[rows], NEIGHBOURS).rows, points)
    return everywhere


class Projecting:
    """Neighbours, then UMAP, in a thread of its own, so that its points can be looked at while they move."""

    def __init__(self, vectors: Vectors, start: Points) -> None:
        self.vectors, self.layout = vectors, Layout(start)
        self.index: NeighbourIndex | None = None
        self.near: Neighbours | None = None
        self.seconds: dict[str, float] = {}
        self._unwatched = threading.Event()
        self._error: BaseException | None = None
        self._stage = ""
        self._stop = Stop()

    def watch(self, line: Line, stop: Stop) -> Iterator[str]:
        """Work to the end, or until it is stopped; a stage in words a few times a second. An error comes out here."""
        self._stop = stop
        thread = threading.Thread(target=self._run, name="map", daemon=True)
        try:
            with line.join(stop) as waiting:
                for before in waiting:
                    yield place_in_line(before, "map")
                if not stop.is_set():
                    thread.start()
                while thread.is_alive():
                    thread.join(LOOK)
                    yield self._stage
        finally:
            self._unwatched.set()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            self._timed("neighbours", "Finding the neighbours of each row", self._find)
            if not self._stopped():
                self._timed("UMAP", "UMAP", self._fit)
        except projection.Stopped:
            pass
        except BaseException as error:
            self._error = error

    def _stopped(self) -> bool:
        return self._unwatched.is_set() or self._stop.is_set()

    def _find(self) -> None:
        self.index = NeighbourIndex(self.vectors)
        self.near = self.index.search(self.vectors, NEIGHBOURS)

    def _fit(self) -> None:
        if self.near is not None:
            self.layout.run(self.near, stopping=self._stopped)

    def _timed(self, name: str, stage: str, work: Callable[[], None]) -> None:
        self._stage, start = stage, time.perf_counter()
        try:
            work()
        finally:
            self.seconds[name] = time.perf_counter() - start
