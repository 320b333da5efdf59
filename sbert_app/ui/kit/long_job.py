"""A job that takes long, as every tab shows it: its buttons, its stage, its steps a few times a second, its end and its failure."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import gradio as gr

from sbert_app.ui.kit.events import PRIVATE, Updates, handler

REFRESH_SECONDS = 0.2  # between two states of the progress bar
STOPPING = "Stopping …"

Step = TypeVar("Step")


class LongJob:
    """The buttons that start a job, the one that stops it, and the line that tells its stage."""

    def __init__(self, stop: gr.Button, stage: gr.HTML, *starts: gr.Button) -> None:
        self.stop, self.stage, self.starts = stop, stage, starts
        self._label = stop.value

    @property
    def outputs(self) -> list[Any]:
        """What `busy` and `idle` change."""
        return [*self.starts, self.stop, self.stage]

    def busy(self, stage: str) -> Updates:
        """Working: it can be stopped, and not started again."""
        return self._state(True) | {self.stage: stage}

    def idle(self, stage: str = "") -> Updates:
        """Ready for the next one."""
        return self._state(False) | {self.stage: stage}

    def listen(
        self, trigger: Any, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], end: Callable[[str], None]
    ) -> Any:
        """Run `work` at the trigger; where it fails, the job is idle again. Returns the event, for what else hangs on it.

        The first input is the session's id, with which `end` stops the work. The services queue the work themselves.
        """
        self.stop.click(handler(self._stopping(end)), inputs[0], self.stop, queue=False, **PRIVATE)
        started = trigger(handler(work), inputs, [*self.outputs, *outputs], concurrency_limit=None, **PRIVATE)
        started.failure(self.idle, None, self.outputs, **PRIVATE)
        return started

    def _stopping(self, end: Callable[[str], None]) -> Callable[[str], Any]:
        def stopping(session_id: str) -> Any:
            end(session_id)
            return gr.Button(STOPPING, interactive=False)

        return stopping

    def _state(self, busy: bool) -> Updates:
        starts = {button: gr.Button(interactive=not busy) for button in self.starts}
        return {**starts, self.stop: gr.Button(self._label, visible=busy, interactive=True)}


def often(
    steps: Iterable[Step], always: Callable[[Step], bool] = lambda step: False, seconds: float = REFRESH_SECONDS
) -> Iterator[Step]:
    """The first step, then one each so many seconds, and those that must `always` be shown."""
    shown = 0.0
    for step in steps:
        if always(step) or time.monotonic() - shown > seconds:
            shown = time.monotonic()
            yield step
