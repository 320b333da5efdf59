"""The parts that all jobs share, built once for the app. Only `sessions` holds data of single visitors."""

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from sbert_app.corpus.cache import EmbeddingCache
from sbert_app.corpus.library import Library
from sbert_app.errors import UserError
from sbert_app.homes import unwritable
from sbert_app.mapping import projection
from sbert_app.models.files.finding import DEFAULT_CROSS_ENCODER, DEFAULT_ENCODER
from sbert_app.runs.run import Runs
from sbert_app.runtime.device import Device, Embedder
from sbert_app.runtime.examples import ExampleCorpora
from sbert_app.runtime.line import ActiveJobs, Line
from sbert_app.runtime.quota_usage import Usage
from sbert_app.runtime.sessions import Sessions
from sbert_app.runtime.worker import Worker, train
from sbert_app.settings import Settings

if TYPE_CHECKING:
    from sbert_app.models.registry import Registry

log = logging.getLogger(__name__)

RUN_HOURS = 24  # hosted, that a run is kept after it was last worked on
EMBEDDING_JOBS = 4  # at a time: batches take turns on the device, reading and indexing overlap


@dataclass(frozen=True)
class Lines:
    """The waiting lines of heavy jobs, and the jobs in all of them together."""

    active: ActiveJobs
    corpora: Line  # encode or compare many sentences
    maps: Line  # one at a time: two UMAP fits at once can abort the process
    timing: Line  # one at a time: two would measure each other


class Workbench:
    """Passed to each job, which uses the parts it needs; none of them is replaced. worker: trains the runs."""

    def __init__(self, settings: Settings, tell: Callable[[str], None] | None = None) -> None:
        """Build all parts. Loads no model. Raises UserError if the settings ask for a GPU and there is none.

        tell: of a command, which converts models for a faster engine where that pays, not in the background.
        """
        limits, active = settings.limits, ActiveJobs(settings.limits)
        self.usage = Usage(settings.quotas)
        self.settings, self.device = settings, _device(settings, lambda: self.registry, self.usage)
        self.embedder = Embedder(self.device, EmbeddingCache(None if settings.hosted else settings.cache / "embeddings"))
        self.examples = ExampleCorpora(self.embedder, limits)
        self.library, self.runs = Library(settings.corpora), Runs(settings.runs)
        self.worker = Worker(partial(train, lambda: self.registry, self.device), self.usage)
        self.sessions = Sessions(limits)
        self.lines = Lines(active, *(Line(places, active, limits.job_seconds) for places in (EMBEDDING_JOBS, 1, 1)))
        self._tell, self._making = tell, threading.Lock()
        self._registry: Registry | None = None
        if settings.device == "cuda":
            _ = self.registry  # refuses at once where there is no GPU

    @cached_property
    def registry(self) -> "Registry":
        """The models by name. Its first use imports torch, which takes a second or two: the page is served without it."""
        with self._making:
            if self._registry is None:
                from sbert_app.models.registry import Registry

                idle = partial(getattr, self.lines.active, "none")
                self._registry = Registry(self.settings, converts=self._tell is None, idle=idle, tell=self._tell)
            return self._registry

    def missing(self) -> list[str]:
        """What is not ready for a visitor: the model, which is loaded after the start; folders, which must be writable."""
        loaded = self._registry is not None and self._registry.was_loaded("encoder", DEFAULT_ENCODER)
        lacking = {"model": not loaded, "data home": self.settings.temporary or unwritable(self.settings.home)}
        lacking["temporary folder"] = unwritable(Path(gettempdir()))
        return [name for name, lacks in lacking.items() if lacks]

    def sweep(self) -> None:
        """End sessions whose page was closed; hosted, delete the runs that nobody has worked on for a day."""
        self.sessions.sweep()
        if self.settings.hosted:
            with suppress(OSError):  # of a home that cannot be read now
                self.runs.sweep(RUN_HOURS)

    def convert_afterwards(self) -> None:
        """At the end of a command: convert the models that computed long enough, for the next one."""
        if self._registry is not None:
            self._registry.acceleration.convert_afterwards()

    def stop_converting(self) -> None:
        """Stop converting models: no thread computes while Python shuts down."""
        with self._making:
            if self._registry is not None:
                self._registry.acceleration.close()


def _device(settings: Settings, registry: "Callable[[], Registry]", usage: Usage) -> Device:
    if not settings.zero_gpu:
        return Device(usage)
    from sbert_app.runtime.zero_gpu import ZeroGpu  # imports torch, and `spaces`, which no other machine has

    return ZeroGpu(settings, registry, usage)


def warm_up(bench: Workbench, pause: Callable[[], None] = lambda: None) -> None:
    """Load the default models and index the examples, so that the first request is fast.

    pause: called between what the first page shows, the score of two sentences on its scale, and the rest.
    """
    start = time.perf_counter()
    try:
        encoder = bench.registry.encoder(DEFAULT_ENCODER)
        bench.examples.scale(encoder)
        pause()
        bench.registry.cross_encoder(DEFAULT_CROSS_ENCODER)
        for name in bench.examples.names():
            bench.examples.indexed(name, encoder)
        log.info("examples ready after %.1f s", time.perf_counter() - start)
        projection.warm_up()
    except UserError as error:
        log.warning("not warmed up: %s", error)
    else:
        log.info("ready after %.1f s on %s", time.perf_counter() - start, bench.registry.hardware)
    gc.collect()
    gc.freeze()  # what stays is not looked through again, which stopped all threads for 0.3 s; networks go without it (tested)
