"""What the app changes in Gradio: its import, memory and language of a page, its queue, log, how long a request head may take."""

import asyncio
import inspect
import logging
import random
import sys
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from uvicorn.config import HTTP_PROTOCOLS, LOGGING_CONFIG
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sbert_app.runtime.visitors import Turns
from sbert_app.watching import Private

if TYPE_CHECKING:
    from gradio import Blocks
    from gradio.queueing import Event

HEAD_SECONDS = 30.0  # to send the head of a request in; uvicorn itself bounds only the pause between two requests

log = logging.getLogger(__name__)


@contextmanager
def _replaced(owner: Any, name: str, by: Callable[..., Any]) -> Iterator[None]:
    before = vars(owner)[name]  # a static method as it is
    setattr(owner, name, by)
    try:
        yield
    finally:
        setattr(owner, name, before)


def no_stubs() -> AbstractContextManager[None]:
    """While Gradio is first imported: spare 81 type stubs for editors, two seconds. It writes none for a class that has no file."""
    getfile = inspect.getfile

    def file_of(what: Any) -> str:
        if isinstance(what, type):
            raise FileNotFoundError
        return getfile(what)

    return _replaced(inspect, "getfile", file_of)


def no_server() -> ContextDecorator:
    """While a page is built: Gradio would make three servers of it that nobody asks, before `launch` makes the one that serves."""
    from gradio.routes import App

    return _replaced(App, "create_app", lambda *_, **__: None)


def use_lean_pages() -> None:
    """Make every app copy no configuration for each page and each call: 30 ms and 0.5 MB that only closed routes read."""
    from gradio import state_holder

    unread: dict[str, Any] = {}

    class LeanState(state_holder.SessionState):
        def __init__(self, blocks: Any) -> None:
            super().__init__(cast(Any, SimpleNamespace(default_config=blocks.default_config, blocks=())))
            setattr(self.blocks_config, "config_for_block", lambda *_: unread)  # noqa: B010 - mypy allows no assignment

    vars(state_holder)["SessionState"] = LeanState


def log_in_one_line() -> None:
    """Log what Gradio refuses, such as a file it did not receive, in one line, not as a traceback. Handlers log their own."""
    from gradio import queueing, route_utils, routes

    def one_line() -> None:
        error = sys.exc_info()[1]
        place = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__ if error else None)[-1:]]
        text = Private(" ".join(str(error).split())[:200])
        log.warning("a request failed in Gradio: %s: %s %s", type(error).__name__, text, place)

    for module in (queueing, routes, route_utils):
        setattr(module, "traceback", SimpleNamespace(print_exc=one_line))  # noqa: B010 - mypy allows no assignment
    LOGGING_CONFIG["loggers"] = {"uvicorn": {"level": "INFO"}}  # its lines are written as all others are


class BoundedHeads(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection that is closed HEAD_SECONDS after it was opened, or a further head was begun, unless the head is complete."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._bound()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._bound()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unbound()
        super().connection_lost(exc)

    def _bound(self) -> None:
        """Start the time when a head begins; end it when the head is complete, or another protocol has the connection."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.get_protocol() is not self:
            self._unbound()
        elif self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _unbound(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def speak_english() -> None:
    """Make the page name English as its language: Gradio takes the browser's, for its own few words and for screen readers."""
    from gradio.routes import templates
    from jinja2 import FunctionLoader

    loader, head = cast(Any, templates.env.loader), "<head>"
    english = f"{head}<script>Object.defineProperty(navigator, 'language', {{ value: 'en' }})</script>"
    templates.env.loader = FunctionLoader(lambda name: loader.get_source(templates.env, name)[0].replace(head, english, 1))


def bound_heads() -> None:
    """Make every server that is started from now on in this process use it: Gradio has no setting for the protocol."""
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{BoundedHeads.__name__}"


def take_turns(page: "Blocks", most: int, visitor: Callable[["Event"], Hashable]) -> None:
    """Serve visitors in turn, and of each at most so many requests of a kind at a time: who sends 200 would delay all by 200."""
    queue = page._queue
    turns: defaultdict[str, Turns[Event]] = defaultdict(Turns)

    def next_events() -> "tuple[list[Event], bool, str] | None":
        running = Counter((event.concurrency_id, visitor(event)) for job in queue.active_jobs for event in job or ())
        kinds = [*queue.event_queue_per_concurrency_id.items()]
        for name, waiting in random.sample(kinds, len(kinds)):
            limit, line = waiting.concurrency_limit, turns[name]
            for gone in {*line.order()} - {*waiting.queue}:
                line.discard(gone)
            for event in waiting.queue:
                if event not in line:
                    line.add(event, visitor(event))
            for event in line.order() if limit is None or waiting.current_concurrency < limit else ():
                if limit is None or running[name, visitor(event)] < most:
                    line.serve(event)
                    waiting.queue.remove(event)
                    return [event], False, name
        return None

    setattr(queue, "get_events", next_events)  # noqa: B010 - mypy allows no assignment
