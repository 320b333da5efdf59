"""Share the device: one batch or query at a time, short requests before the batches of long jobs."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sbert_app.models.files.trained_for import check_one_score
from sbert_app.vectors import Rows, Vectors

if TYPE_CHECKING:
    from sbert_app.models.cross_encoder import Pair
    from sbert_app.models.encoder import Encoder
    from sbert_app.models.poly_encoder import PairScorer

SHORT_IN_A_ROW = 8  # short requests served before a waiting batch gets its turn, so that no job starves

Step = TypeVar("Step")


class Device:
    """A lock, held for one batch or one query. Served in order of arrival, short requests before batches."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = False
        self._short: deque[threading.Event] = deque()
        self._batches: deque[threading.Event] = deque()
        self._in_a_row = 0

    @contextmanager
    def hold(self, short: bool = False) -> Iterator[float]:
        """Hold the device; yields the seconds spent waiting. short: a request of milliseconds, which a user waits for."""
        start = time.perf_counter()
        self._acquire(short)
        try:
            yield time.perf_counter() - start
        finally:
            self._release()

    def close(self, seconds: float) -> None:
        """Take the device for good, or give up after `seconds`: a thread computing while Python shuts down aborts the process."""
        self._acquire(short=True, seconds=seconds)

    def each(self, steps: Iterator[Step], short: bool = False) -> Iterator[Step]:
        """Yield the steps of a long job, holding the device only while a step is computed. short: each is a short request."""
        while True:
            with self.hold(short):
                step = next(steps, None)
            if step is None:
                return
            yield step

    def encode(self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "") -> Vectors:
        """Embed a few sentences as a short request. n strings -> (n, dim) float32."""
        with self.hold(short=True):
            return encoder.encode(sentences, prompt)

    def stream(
        self, encoder: "Encoder", sentences: Sequence[str], prompt: str = "", short: bool = False
    ) -> Iterator[tuple[Rows, Vectors]]:
        """Embed many sentences; yield (row numbers, vectors) batch by batch. short: each batch is a short request."""
        return self.each(encoder.stream(sentences, prompt), short)

    def scores(self, cross: "PairScorer", pairs: "Sequence[Pair]", tick: Callable[[], None] = lambda: None) -> Vectors:
        """Score pairs batch by batch. n pairs -> (n,) float32. Raises UserError for a cross-encoder with several labels.

        tick: called after each batch, may raise.
        """
        check_one_score(cross)
        scores = np.empty(len(pairs), dtype=np.float32)
        for rows, values in self.each(cross.stream(pairs)):
            scores[rows] = values[:, 0]
            tick()
        return scores

    def _acquire(self, short: bool, seconds: float | None = None) -> None:
        queue = self._short if short else self._batches
        with self._lock:
            if not self._held:
                self._held = True
                return
            turn = threading.Event()
            queue.append(turn)
        try:
            turn.wait(seconds)  # the releasing thread hands the device over, still held
        except BaseException:  # Ctrl-C in the shell: a thread that left the queue must not be handed the device
            self._leave(queue, turn)
            raise

    def _leave(self, queue: deque[threading.Event], turn: threading.Event) -> None:
        with self._lock:
            waiting = turn in queue
            if waiting:
                queue.remove(turn)
        if not waiting:
            self._release()

    def _release(self) -> None:
        with self._lock:
            queue = self._next()
            if queue is None:
                self._held = False
            else:
                queue.popleft().set()

    def _next(self) -> "deque[threading.Event] | None":
        """The queue to serve next, None if both are empty."""
        if self._short and not (self._batches and self._in_a_row >= SHORT_IN_A_ROW):
            self._in_a_row += 1
            return self._short
        self._in_a_row = 0
        return self._batches or None
