"""The thread that trains: one run at a time, the device shared with everyone else batch by batch."""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from filelock import FileLock

from sbert_app.errors import UserError
from sbert_app.runs.execution import Execution
from sbert_app.runs.run import FAILED, RUNNING, STOPPED, WAITING, Run
from sbert_app.storage import FULL, write_failure, writing

log = logging.getLogger(__name__)

OURS = "Something went wrong on our side; it has been logged. Resume goes on from the last checkpoint."
DISK_FULL = "The disk is full. Free some space, then resume."


@dataclass(frozen=True)
class Job:
    """A run that waits or is worked on. Its lock is held from the first moment, so that other processes believe its state."""

    run: Run
    lock: FileLock
    stop: threading.Event = field(default_factory=threading.Event)


class Worker:
    """Takes runs in turn. `start` and `stop` return at once; what happens is written into the run's folder."""

    def __init__(self, execute: Callable[[Run, Callable[[], bool]], None]) -> None:
        self._execute = execute
        self._waiting: queue.Queue[Job] = queue.Queue()
        self._jobs: dict[str, Job] = {}
        self._unwritten: dict[str, tuple[str, str]] = {}  # state and message of runs whose folder could not take them
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, run: Run) -> None:
        """Train this run when its turn comes. Raises UserError where it already waits or runs, and where it cannot be written."""
        with self._lock:
            if run.id in self._jobs:
                raise UserError("This run is already being worked on.")
            job = Job(run, run.hold())
            try:
                with writing("The run"):
                    run.say(WAITING)
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
        """End a run after the batch that is being computed."""
        with self._lock:
            if run_id in self._jobs:
                self._jobs[run_id].stop.set()

    def count(self) -> int:
        """Runs that wait or are being worked on."""
        return len(self._jobs)

    def busy(self, run_id: str) -> bool:
        """Whether the run is waiting or running in this process."""
        return run_id in self._jobs

    def unwritten(self, run_id: str) -> tuple[str, str] | None:
        """State and message of a run that ended here, where its folder could not take them."""
        return self._unwritten.get(run_id)

    def _work(self) -> None:
        while True:
            job = self._waiting.get()
            try:
                self._carry_out(job)
            except BaseException:  # whatever it was, the runs behind it get their turn
                log.exception("run %s ended without a state", job.run.id)
                self._unwritten[job.run.id] = FAILED, OURS
            with self._lock:
                del self._jobs[job.run.id]
            with suppress(OSError):
                job.lock.release()

    def _carry_out(self, job: Job) -> None:
        if job.stop.is_set():
            self._say(job.run, STOPPED, "Stopped before it began.")
            return
        try:
            job.run.say(RUNNING)
            self._execute(job.run, job.stop.is_set)
        except UserError as error:
            self._say(job.run, FAILED, str(error))
        except Exception as error:
            log.exception("run %s failed", job.run.id)
            self._say(job.run, FAILED, _reason(error))

    def _say(self, run: Run, state: str, message: str) -> None:
        try:
            run.say(state, message)
        except OSError as error:
            log.warning("the state of run %s cannot be written: %s", run.id, error)
            self._unwritten[run.id] = state, message


def _reason(error: Exception) -> str:
    failure = write_failure(error)
    if failure is None:
        return OURS
    return DISK_FULL if failure.errno in FULL else f"The run cannot be written: {failure.strerror}. Mend that, then resume."


def carry_out(execution: Execution, device: Callable[[], AbstractContextManager[object]]) -> None:
    """Let an execution work, holding the device for one part of it at a time."""
    work = execution.work()
    while True:
        with device():
            try:
                next(work)
            except StopIteration:
                return
