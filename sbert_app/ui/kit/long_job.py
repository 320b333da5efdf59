"""The controls of a long job: start and stop buttons, a stage line, and throttled progress."""

import functools
import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import gradio as gr
from markupsafe import Markup

from sbert_app.runtime.session import Session
from sbert_app.step import Step
from sbert_app.ui.kit.events import PRIVATE, Updates, handler

REFRESH_SECONDS = 0.2  # between two updates of the progress bar
STOPPING = "Stopping …"

Item = TypeVar("Item")
Result = TypeVar("Result")


class LongJob:
    """The buttons that start a job, the button that stops it, and the line with its stage."""

    def __init__(self, stop: gr.Button, stage: gr.HTML, *starts: gr.Button) -> None:
        self.stop, self.stage, self.starts = stop, stage, starts
        self.outputs: list[Any] = [*starts, stop, stage]  # what `busy` and `idle` update
        self._label = stop.value
        self._stop: Callable[[Session], None] = lambda session: None
        self._asked: set[str] = set()  # the sessions whose visitor pressed Stop while the job ran

    def busy(self, stage: Markup) -> Updates:
        """Running: show Stop, disable the start buttons."""
        return self._state(True) | {self.stage: stage}

    def idle(self, stage: Markup = Markup()) -> Updates:
        """Not running: hide Stop, enable the start buttons."""
        return self._state(False) | {self.stage: stage}

    def following(
        self, steps: Iterable[Step[Result]], progress: Callable[[Step[Result]], Markup], stopped: Markup | None
    ) -> Iterator[tuple[Step[Result], Updates]]:
        """Yield the steps that are worth showing, with the controls: busy until the job has a result or was stopped.

        stopped: the last stage of a job that was stopped; None: its progress.
        """
        for step in throttled(steps, lambda step: step.stopped or step.result is not None):
            if step.stopped:
                yield step, self.idle(progress(step) if stopped is None else stopped)
            else:
                yield step, self.busy(progress(step)) if step.result is None else self.idle()

    def listen(
        self, trigger: Any, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], stop: Callable[[Session], None] | None
    ) -> Any:
        """Run `work` at the trigger, and become idle if it fails. Returns the event, for chaining.

        The first input is the session, passed to `stop`, which is None if another trigger has the same.
        No concurrency limit: the work waits in the lines of the workbench.
        """
        if stop is not None:
            self._stop = stop
            self.stop.click(handler(self._on_stop), inputs[0], self.stop, queue=False, **PRIVATE)
        started = trigger(handler(self._stoppable(work)), inputs, [*self.outputs, *outputs], concurrency_limit=None, **PRIVATE)
        started.failure(self.idle, None, self.outputs, **PRIVATE)
        return started

    def _on_stop(self, session: Session) -> Any:
        self._stop(session)
        self._asked.add(session.id)
        return gr.Button(STOPPING, interactive=False)

    def _stoppable(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Repeat a stop at each step: the page shows the button before the run has begun that it stops.

        Repeat how the buttons are, too: of two updates that come within a frame, a busy page loses the first.
        """
        if not inspect.isgeneratorfunction(work):
            return work

        @functools.wraps(work)
        def steps(session: Session, *args: Any) -> Iterator[Any]:
            self._asked.discard(session.id)
            buttons: Updates = {}
            try:
                for step in work(session, *args):
                    buttons |= {button: step[button] for button in (*self.starts, self.stop) if button in step}
                    if session.id in self._asked:
                        self._stop(session)
                        buttons.pop(self.stop, None)  # it says "Stopping …"
                    yield buttons | step
            finally:
                self._asked.discard(session.id)

        return steps

    def _state(self, busy: bool) -> Updates:
        starts = {button: gr.Button(interactive=not busy) for button in self.starts}
        return {**starts, self.stop: gr.Button(self._label, visible=busy, interactive=True)}


def throttled(
    steps: Iterable[Item], always: Callable[[Item], bool] = lambda step: False, seconds: float = REFRESH_SECONDS
) -> Iterator[Item]:
    """Yield the first step, then one every `seconds`, and each step for which `always` is true."""
    shown = 0.0
    for step in steps:
        if always(step) or time.monotonic() - shown > seconds:
            shown = time.monotonic()
            yield step
