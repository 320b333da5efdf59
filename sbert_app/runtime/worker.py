"""The thread that trains: one run at a time, the device shared with everyone else batch by batch."""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from sbert_app.errors import UserError
from sbert_app.training.execution import Execution
from sbert_app.training.run import FAILED, RUNNING, STOPPED, WAITING, Run

log = logging.getLogger(__name__)

OURS = "Something went wrong on our side; it has been logged. Resume goes on from the last checkpoint."


class Worker:
    """Takes runs in turn. `start` and `stop` return at once; what happens is written into the run's folder."""

    def __init__(self, execute: Callable[[Run, Callable[[], bool]], None]) -> None:
        self._execute = execute
        self._waiting: queue.Queue[Run] = queue.Queue()
        self._stops: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def start(self, run: Run) -> None:
        """Train this run when its turn comes. Raises UserError where it is already waiting or running here."""
        with self._lock:
            if run.id in self._stops:
                raise UserError("This run is already being worked on.")
            self._stops[run.id] = threading.Event()
            run.say(WAITING)
            self._waiting.put(run)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="training", daemon=True)
                self._thread.start()

    def stop(self, run_id: str) -> None:
        """End a run after the batch that is being computed."""
        with self._lock:
            if run_id in self._stops:
                self._stops[run_id].set()

    def count(self) -> int:
        """Runs that wait or are being worked on."""
        return len(self._stops)

    def busy(self, run_id: str) -> bool:
        """Whether the run is waiting or running in this process."""
        return run_id in self._stops

    def _work(self) -> None:
        while True:
            run = self._waiting.get()
            try:
                self._carry_out(run, self._stops[run.id].is_set)
            finally:
                with self._lock:
                    del self._stops[run.id]

    def _carry_out(self, run: Run, stopping: Callable[[], bool]) -> None:
        if stopping():
            run.say(STOPPED, "Stopped before it began.")
            return
        try:
            with run.lock():
                run.say(RUNNING)
                self._execute(run, stopping)
        except UserError as error:
            run.say(FAILED, str(error))
        except Exception:
            log.exception("run %s failed", run.id)
            run.say(FAILED, OURS)


def carry_out(execution: Execution, device: Callable[[], AbstractContextManager[object]]) -> None:
    """Let an execution work, holding the device for one part of it at a time."""
    work = execution.work()
    while True:
        with device():
            try:
                next(work)
            except StopIteration:
                return
