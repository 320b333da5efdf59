"""The controls of a long job: start and stop buttons, a stage line, and throttled progress."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import gradio as gr
from markupsafe import Markup

from sbert_app.ui.kit.events import PRIVATE, Updates, handler

REFRESH_SECONDS = 0.2  # between two updates of the progress bar
STOPPING = "Stopping …"

Step = TypeVar("Step")


class LongJob:
    """The buttons that start a job, the button that stops it, and the line with its stage."""

    def __init__(self, stop: gr.Button, stage: gr.HTML, *starts: gr.Button) -> None:
        self.stop, self.stage, self.starts = stop, stage, starts
        self._label = stop.value

    @property
    def outputs(self) -> list[Any]:
        """The components that `busy` and `idle` update."""
        return [*self.starts, self.stop, self.stage]

    def busy(self, stage: Markup) -> Updates:
        """Running: show Stop, disable the start buttons."""
        return self._state(True) | {self.stage: stage}

    def idle(self, stage: Markup = Markup()) -> Updates:
        """Not running: hide Stop, enable the start buttons."""
        return self._state(False) | {self.stage: stage}

    def listen(
        self, trigger: Any, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], stop: Callable[[str], None] | None
    ) -> Any:
        """Run `work` at the trigger, and become idle if it fails. Returns the event, for chaining.

        The first input is the session's id, passed to `stop`, which is None if another trigger has the same.
        No concurrency limit: the services queue the work.
        """
        if stop is not None:
            self.stop.click(handler(self._stopping(stop)), inputs[0], self.stop, queue=False, **PRIVATE)
        started = trigger(handler(work), inputs, [*self.outputs, *outputs], concurrency_limit=None, **PRIVATE)
        started.failure(self.idle, None, self.outputs, **PRIVATE)
        return started

    def _stopping(self, stop: Callable[[str], None]) -> Callable[[str], Any]:
        def stopping(session_id: str) -> Any:
            stop(session_id)
            return gr.Button(STOPPING, interactive=False)

        return stopping

    def _state(self, busy: bool) -> Updates:
        starts = {button: gr.Button(interactive=not busy) for button in self.starts}
        return {**starts, self.stop: gr.Button(self._label, visible=busy, interactive=True)}


def throttled(
    steps: Iterable[Step], always: Callable[[Step], bool] = lambda step: False, seconds: float = REFRESH_SECONDS
) -> Iterator[Step]:
    """Yield the first step, then one every `seconds`, and each step for which `always` is true."""
    shown = 0.0
    for step in steps:
        if always(step) or time.monotonic() - shown > seconds:
            shown = time.monotonic()
            yield step
