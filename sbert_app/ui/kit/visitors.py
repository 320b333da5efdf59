"""Identify the visitor of a request, for limits per visitor, and tell whether a caller still waits for the answer."""

from collections.abc import Callable

import gradio as gr
from gradio.context import LocalContext

from sbert_app.runtime.stop import Visitor, network_address


def visitor_of(request: gr.Request | None, hosted: bool) -> Visitor:
    """The visitor's connection and, in hosted mode, address."""
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
