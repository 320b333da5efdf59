"""Event handlers: how errors are shown, how a page shows that it waits, and who asks.

A UserError is shown with its own text; any other error is logged and shown as an internal error.
"""

import functools
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
from gradio.context import LocalContext

from sbert_app.errors import OUR_FAULT, UserError
from sbert_app.runtime.line import Visitor, network_address
from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import SessionKey

log = logging.getLogger(__name__)

# Hidden progress, because Gradio would show an error on top of every output, covering buttons.
PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
Values = dict[Any, Any]  # component -> value, the argument of a handler with a set of inputs
Updates = dict[Any, Any]  # component -> its new value or state; other components are unchanged

INTERNAL_ERROR = f"{OUR_FAULT} Please try again."


def handler(function: Callable[..., Any], early: bool = False) -> Callable[..., Any]:
    """Wrap an event handler, a function or a generator: look up the page's session, and show errors.

    early: may run before the page has arrived; then it gets an empty session.
    """

    def looked_up(value: Any) -> Any:
        if isinstance(value, SessionKey):
            request = LocalContext.request.get(None)
            return Session() if early and not value.id else value.session(getattr(request, "session_hash", None) or "")
        return {key: looked_up(item) for key, item in value.items()} if _is_values(value) else value

    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Iterator[Any]:
            with _errors_shown():
                yield from function(*map(looked_up, args), **kwargs)

        return generator

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        with _errors_shown():
            return function(*map(looked_up, args), **kwargs)

    return plain


def busy(elem_id: str) -> dict[str, Any]:
    """Arguments of an event that takes long: the element is dimmed until `no_longer_busy` is called after the event."""
    return PRIVATE | {"js": f"(...values) => {{ studio.wait('{elem_id}', true); return values; }}"}


def no_longer_busy(event: Any, elem_id: str) -> None:
    """Show the element as usual when the event's function has ended, also if it failed."""
    event.then(None, None, None, js=f"() => studio.wait('{elem_id}', false)", **PRIVATE)


def typed_text(value: Any) -> str:
    """The trimmed text of a text box; "" for any other value."""
    return value.strip() if isinstance(value, str) else ""


def sent(event: gr.EventData) -> dict[str, Any]:
    """What the page's script sent with an event; nothing if it is no object, since anybody can call a handler with anything."""
    return event._data if isinstance(event._data, dict) else {}


def visitor_of(request: gr.Request | None, hosted: bool) -> Visitor:
    """Who sends a request, for limits per visitor: the connection and, in hosted mode, the address."""
    if request is None:
        return Visitor()
    if not hosted:
        return Visitor(request.session_hash or "")
    client = request.client.host if request.client else ""
    return Visitor(request.session_hash or "", network_address(request.headers.get("x-forwarded-for", ""), client))


def caller_left() -> Callable[[], bool]:
    """Tell at any time whether the caller of the event that is handled now has closed its connection or cancelled the call."""
    blocks, event_id = LocalContext.blocks.get(None), LocalContext.event_id.get(None) or ""
    events = blocks._queue.event_ids_to_events if blocks else {}
    event = events.get(event_id)
    return lambda: event is not None and not (event.alive and event_id in events)


def _is_values(value: Any) -> bool:
    """Whether this is the argument of a handler with a set of inputs."""
    return isinstance(value, dict) and any(isinstance(key, gr.components.Component) for key in value)


@contextmanager
def _errors_shown() -> Iterator[None]:
    try:
        yield
    except UserError as error:
        raise gr.Error(str(error), print_exception=False) from None
    except gr.Error:
        raise
    except Exception as error:
        log.exception("a handler failed")
        raise gr.Error(INTERNAL_ERROR, print_exception=False) from error
