"""Who sends a request: what limits are counted by."""

import gradio as gr

from sbert_app.runtime.stop import Visitor


def visitor_of(request: gr.Request | None, hosted: bool) -> Visitor:
    """The connection of a request, and in hosted mode the address behind it. The proxy of a Space appends it as the last one."""
    if request is None:
        return Visitor()
    if not hosted:
        return Visitor(request.session_hash or "")
    forwarded = [address.strip() for address in request.headers.get("x-forwarded-for", "").split(",")]
    return Visitor(request.session_hash or "", forwarded[-1] or (request.client.host if request.client else ""))
