"""Event handlers: how errors are shown, how a page shows that it waits, who asks; the controls of a long job."""

import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakSet

import gradio as gr
from gradio.context import LocalContext
from markupsafe import Markup

from sbert_app.corpus.indexed import IndexedCorpus
from sbert_app.errors import FaultError, UserError
from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import ENDED, SessionKey
from sbert_app.runtime.visitors import Visitor, asking, each_asking
from sbert_app.step import REFRESH_SECONDS, Result, Step, throttled
from sbert_app.watching import STOPPED, Watched, watched

# Hidden progress, because Gradio would show an error on top of every output, covering buttons. And on no component: its page would
# read the whole state of every output of every event so far, their children too, at each change of any event's status.
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "show_progress_on": []}
Values = dict[Any, Any]  # component -> value, the argument of a handler with a set of inputs
Updates = dict[Any, Any]  # component -> its new value or state; other components are unchanged
UI, ENDPOINTS = "sbert_app.ui.", ".kit.endpoints"  # where handlers are: a folder for each tab; the module that makes endpoints
STOPPING = "Stopping …"


def handler(function: Callable[..., Any], early: bool = False) -> Callable[..., Any]:
    """Wrap an event handler, a function or generator: look up its session, work for its visitor, show errors, log how it ends.

    early: may run before the page has arrived; then it gets an empty session. A generator returns whether it was stopped.
    """
    door, job = _door_and_job(function)

    def looked_up(value: Any, current: Watched) -> Any:
        if isinstance(value, SessionKey):
            request = LocalContext.request.get(None)
            session = Session() if early and not value.id else value.session(getattr(request, "session_hash", None) or "")
            if indexed := session.get(IndexedCorpus):
                current.sizes["rows"] = len(indexed.corpus)
            return session
        if isinstance(value, dict) and any(isinstance(key, gr.components.Component) for key in value):  # of a set of inputs
            return {key: looked_up(item, current) for key, item in value.items()}
        return value

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any) -> Iterator[Any]:
            visitor = visitor_of(LocalContext.request.get(None))
            with _errors_shown(), watched(door, job) as current:
                if (yield from each_asking(visitor, function(*(looked_up(value, current) for value in args)))):
                    current.outcome = STOPPED

        return generator

    @functools.wraps(function)
    def plain(*args: Any) -> Any:
        with _errors_shown(), watched(door, job) as current, asking(visitor_of(LocalContext.request.get(None))):
            answer = function(*(looked_up(value, current) for value in args))
            if door == "api":
                current.count_items(answer)
            return answer

    return plain


def dimming(elem_id: str, trigger: Any, *event: Any, **how: Any) -> Any:
    """Connect what takes long, by trigger(*event, **how): the element is dimmed until it has ended. Returns the event."""
    started = trigger(*event, js=f"(...values) => {{ studio.wait('{elem_id}', true); return values; }}", **how, **PRIVATE)
    for after in (started.then, started.failure):  # Gradio's page runs no `then` of what has failed
        after(None, None, None, js=f"() => studio.wait('{elem_id}', false)", **PRIVATE)
    return started


def typed_text(value: Any) -> str:
    """The trimmed text of a text box; "" for any other value."""
    return value.strip() if isinstance(value, str) else ""


def sent(event: gr.EventData) -> dict[str, Any]:
    """What the page's script sent with an event; nothing if it is no object, since anybody can call a handler with anything."""
    # Never with the trigger mode "always_last": of an event that waits, Gradio's page sends what came with the one before.
    return event._data if isinstance(event._data, dict) else {}


def visitor_of(request: gr.Request | None) -> Visitor:
    """Who sends a request: its connection and, as `ui/login` has noted, address and name."""
    found = request.request.scope.get("visitor") if request and request.request else None
    return replace(found or Visitor(), connection=(request and request.session_hash) or "")


def caller_left() -> Callable[[], bool]:
    """Tell at any time whether the caller of the event that is handled now has closed its connection or cancelled the call."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None) or ""
    events = blocks._queue.event_ids_to_events if blocks else {}
    event = events.get(event_id)
    return lambda: event is not None and not (event.alive and event_id in events)


@contextmanager
def _errors_shown() -> Iterator[None]:
    """Show a UserError with its own text, any other error as the number under which it is logged."""
    try:
        yield
    except UserError as error:
        raise gr.Error(str(error), print_exception=False) from None
    except FaultError as fault:
        raise gr.Error(f"{fault} Please try again.", print_exception=False) from fault.__cause__


def _door_and_job(function: Callable[..., Any]) -> tuple[str, str]:
    """How a handler is called and its name: an endpoint by its job, one of the page by its tab, such as "search.search"."""
    named = function.func if isinstance(function, functools.partial) else function
    package, name = named.__module__, named.__name__.lstrip("_").removeprefix("on_")
    return ("api", name) if package.endswith(ENDPOINTS) else ("page", f"{package.removeprefix(UI).partition('.')[0]}.{name}")


class LongJob:
    """The buttons that start a job, the button that stops it, and the line with its stage."""

    def __init__(self, stop: gr.Button, stage: gr.HTML, *starts: gr.Button) -> None:
        self.stop, self.stage, self.starts = stop, stage, starts
        self.outputs: list[Any] = [*starts, stop, stage]  # what `busy` and `idle` update
        self._label = stop.value
        self._stop: Callable[[Session], None] = lambda session: None
        self._asked: WeakSet[Session] = WeakSet()  # whose visitor pressed Stop since the job began

    def busy(self, stage: Markup) -> Updates:
        """Running: show Stop, disable the start buttons."""
        return self._state(True) | {self.stage: stage}

    def idle(self, stage: Markup = Markup()) -> Updates:
        """Not running: hide Stop, enable the start buttons."""
        return self._state(False) | {self.stage: stage}

    def following(
        self,
        steps: Iterable[Step[Result]],
        progress: Callable[[Step[Result]], Markup],
        stopped: Markup | None,
        seconds: float = REFRESH_SECONDS,
        at_once: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[Step[Result], Updates]]:
        """Yield the steps that are worth showing, with the controls: busy until the job has a result or was stopped.

        stopped: the last stage of a job that was stopped; None: its progress. seconds: between two steps, unless `at_once`.
        """
        for step in throttled(steps, lambda step: step.stopped or step.result is not None or at_once(), seconds):
            if step.stopped:
                yield step, self.idle(progress(step) if stopped is None else stopped)
            else:
                yield step, self.busy(progress(step)) if step.result is None else self.idle()

    def listen(
        self, trigger: Any, work: Callable[..., Any], inputs: list[Any], outputs: list[Any], stop: Callable[[Session], None] | None
    ) -> Any:
        """Run `work`, a generator, at the trigger, and become idle if it fails. Returns the event, for chaining.

        The first input is the session, passed to `stop`, which is None if another trigger has the same. The work waits in the
        lines of the workbench, so there is no concurrency limit, and a click counts also while the run before is still leaving.
        """
        if stop is not None:
            self._stop = stop
            self.stop.click(handler(self._on_stop), inputs[0], self.stop, queue=False, **PRIVATE)
        how: dict[str, Any] = {"concurrency_limit": None, "trigger_mode": "multiple", **PRIVATE}
        started = trigger(handler(self._stoppable(work)), inputs, [*self.outputs, *outputs], **how)
        started.failure(self.idle, None, self.outputs, **PRIVATE)
        return started

    def _on_stop(self, session: Session) -> Any:
        self._asked.add(session)
        self._stop(session)
        return gr.Button(STOPPING, interactive=False)

    def _stoppable(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """Repeat a stop at each step: the page shows the button before the run has begun that it stops.

        Repeat how the buttons are, too: of two updates that come within a frame, a busy page loses the first. And change nothing
        at the end of a run that another has replaced: Gradio repeats the last updates, over what the other may have shown.
        """

        @functools.wraps(work)
        def steps(session: Session, *args: Any) -> Generator[Any, None, bool]:
            self._asked.discard(session)
            buttons: Updates = {}
            stopped = busy = False
            for step in work(session, *args):
                busy = step[self.stop].constructor_args["visible"] if self.stop in step else busy
                buttons |= {button: step[button] for button in (*self.starts, self.stop) if button in step}
                if stopped := session in self._asked:
                    self._stop(session)
                    buttons.pop(self.stop, None)  # it says "Stopping …"
                yield buttons | step
            if session.closed:  # meanwhile: its work said nothing more
                raise UserError(ENDED)
            if busy:
                yield {self.stage: gr.skip()}
            return stopped

        return steps

    def _state(self, busy: bool) -> Updates:
        starts = {button: gr.Button(interactive=not busy) for button in self.starts}
        return {**starts, self.stop: gr.Button(self._label, visible=busy, interactive=True)}
