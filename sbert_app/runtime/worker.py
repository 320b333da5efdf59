"""The training thread: one run at a time, sharing the device with other jobs batch by batch."""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from filelock import FileLock

from sbert_app.errors import FaultError, UserError
from sbert_app.runs.records import FAILED, RUNNING, STOPPED, WAITING, RunInfo
from sbert_app.runs.run import Run
from sbert_app.runtime.device import Device
from sbert_app.runtime.line import give_back
from sbert_app.runtime.quota_usage import MEASURED, TRAINING, Usage
from sbert_app.storage import FULL, write_failure, writing
from sbert_app.watching import Private, admitted, watched

if TYPE_CHECKING:
    from sbert_app.models.registry import Registry

log = logging.getLogger(__name__)

RESUME = "Resume continues from the last checkpoint."
DISK_FULL = "The disk is full. Free some space, then resume."


@dataclass(frozen=True)
class WaitingRun:
    """A run that waits or is trained. Its lock is held from the start, so that other processes trust its state."""

    run: Run
    lock: FileLock
    stop: threading.Event = field(default_factory=threading.Event)
    context: Context = field(default_factory=copy_context)  # of the request that started it, for whose visitor seconds count


class Worker:
    """Trains runs in turn. `start` and `stop` return at once; progress is written to the run's folder."""

    def __init__(self, train: Callable[[Run, Callable[[], bool]], None], usage: Usage | None = None) -> None:
        self._train, self._usage = train, usage or Usage()
        self._waiting: queue.Queue[WaitingRun] = queue.Queue()
        self._jobs: dict[str, WaitingRun] = {}
        self._unwritten: dict[str, tuple[str, str]] = {}  # state and message of runs whose folder was not writable
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, run: Run) -> None:
        """Train this run when its turn comes. Raises UserError if it already waits or runs, or cannot be written."""
        with self._lock:
            if run.id in self._jobs:
                raise UserError("This run is already being worked on.")
            job = WaitingRun(run, run.hold())
            try:
                with writing("The run"):
                    run.set_state(WAITING)
            except BaseException:
                job.lock.release()
                raise
            self._unwritten.pop(run.id, None)
            self._jobs[run.id] = job
            self._waiting.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="training", daemon=True)
                self._thread.start()

    def stop(self, run_id: str) -> None:
        """Stop a run after the current batch."""
        with self._lock:
            if run_id in self._jobs:
                self._jobs[run_id].stop.set()

    def stopping(self, run_id: str) -> bool:
        """Whether the run was asked to stop and has not ended."""
        job = self._jobs.get(run_id)
        return job is not None and job.stop.is_set()

    def count(self) -> int:
        """Number of runs that wait or are trained."""
        return len(self._jobs)

    def busy(self, run_id: str) -> bool:
        """Whether the run waits or is trained in this process."""
        return run_id in self._jobs

    def updated(self, info: RunInfo) -> RunInfo:
        """A run's row as it is known here: it may still be held, or its last state could not be written to a full disk."""
        if unwritten := self._unwritten.get(info.id):
            return replace(info, state=unwritten[0], message=unwritten[1])
        return info if info.id not in self._jobs or info.state == WAITING else replace(info, state=RUNNING)

    def _work(self) -> None:
        while True:
            job = self._waiting.get()
            try:
                job.context.run(self._run_job, job)
            except BaseException:  # the next runs must get their turn
                self._unwritten[job.run.id] = FAILED, f"{admitted('a run ended without a state')} {RESUME}"
            with suppress(OSError):
                job.lock.release()  # first: a run that is not counted any more is free
            with self._lock:
                del self._jobs[job.run.id]
            del job
            give_back(unreachable=True)

    def _run_job(self, job: WaitingRun) -> None:
        if job.stop.is_set():
            self._set_state(job.run, STOPPED, "Stopped before it began.")
            return
        try:
            with watched("training", "run") as ended:
                MEASURED.set(TRAINING)
                job.run.set_state(RUNNING)
                self._train(job.run, lambda: job.stop.is_set() or bool(self._usage.spent(TRAINING)))
                reason, info = self._usage.spent(TRAINING), job.run.info()
                if reason and info.state == STOPPED:
                    self._set_state(job.run, STOPPED, f"{info.message} {reason}")
                if reason or job.stop.is_set():
                    ended.outcome = STOPPED
        except UserError as error:
            self._set_state(job.run, FAILED, str(error))
        except FaultError as fault:
            reason, failure = f"{fault} {RESUME}", write_failure(fault.__cause__) if fault.__cause__ else None
            if failure is not None:
                full = failure.errno in FULL
                reason = DISK_FULL if full else f"The run cannot be written: {failure.strerror}. Fix that, then resume."
            self._set_state(job.run, FAILED, reason)

    def _set_state(self, run: Run, state: str, message: str) -> None:
        try:
            run.set_state(state, message)
        except OSError as error:
            log.warning("the state of run %s cannot be written: %s", Private(run.id), error)
            self._unwritten[run.id] = state, message


def train(registry: "Callable[[], Registry]", device: Device, run: Run, stopping: Callable[[], bool]) -> None:
    """Train a run in this thread to its end, holding the device for one step at a time. The caller holds the run's lock."""
    from sbert_app.runs.execution import Execution

    if device.train(run, stopping):
        return
    models = registry()
    deque(device.each(Execution(run, models.trainable, models.hardware, stopping).work()), maxlen=0)  # run to the end
