"""Encode the sentences of several clients together: what arrives while the device is busy becomes one call."""

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sbert_app.runtime.device import Device
from sbert_app.vectors import Vectors

if TYPE_CHECKING:
    from sbert_app.models.encoder import Encoder

MOST_TOGETHER = 512  # sentences of one call: more are hardly faster, and the first clients would wait for the last


@dataclass(frozen=True, eq=False)
class Waiting:
    """Sentences of one client, and their embeddings to come, (n, dim) float32."""

    encoder: "Encoder"
    sentences: Sequence[str]
    embeddings: "Future[Vectors]" = field(default_factory=Future)


class Gathering:
    """Encodes what waits, oldest first, on a thread of its own. Nobody waits for others to come: an idle device starts at once."""

    def __init__(self, device: Device, short: bool) -> None:
        """short: the requests are short ones, whose batches go before those of long jobs."""
        self._device, self._short = device, short
        self._waiting: deque[Waiting] = deque()
        self._lock = threading.Lock()
        self._working = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gathering")

    def submit(self, encoder: "Encoder", sentences: Sequence[str]) -> "Future[Vectors]":
        """Embed sentences, together with those of others. n strings -> (n, dim) float32, later. A cancelled future is skipped."""
        request = Waiting(encoder, sentences)
        with self._lock:
            self._waiting.append(request)
            if not self._working:
                self._working = True
                self._thread.submit(self._work)
        return request.embeddings

    def _work(self) -> None:
        while requests := self._take():
            self._serve([request for request in requests if request.embeddings.set_running_or_notify_cancel()])

    def _serve(self, requests: list[Waiting]) -> None:
        try:
            self._encode(requests)
        except Exception as error:
            if len(requests) == 1:
                requests[0].embeddings.set_exception(error)
            else:  # apart, so that only the request that fails gets the error
                for request in requests:
                    self._serve([request])

    def _take(self) -> list[Waiting]:
        """Remove the oldest request from the queue, and others of its model while they fit into one call."""
        with self._lock:
            taken: list[Waiting] = []
            room = MOST_TOGETHER
            for request in list(self._waiting):
                if not taken or (request.encoder is taken[0].encoder and len(request.sentences) <= room):
                    taken.append(request)
                    room -= len(request.sentences)
                    self._waiting.remove(request)
            self._working = bool(taken)
            return taken

    def _encode(self, requests: list[Waiting]) -> None:
        """Encode these together and give each its rows. Equal sentences are computed once."""
        if not requests:
            return
        sentences = [sentence for request in requests for sentence in request.sentences]
        embeddings = np.empty((len(sentences), requests[0].encoder.dim), dtype=np.float32)
        for rows, vectors in self._device.stream(requests[0].encoder, sentences, short=self._short):
            embeddings[rows] = vectors
        ends = np.cumsum([len(request.sentences) for request in requests])
        for request, part in zip(requests, np.split(embeddings, ends[:-1]), strict=True):
            request.embeddings.set_result(part)
