"""Identify the visitor of a request, for limits per visitor."""

import gradio as gr

from sbert_app.runtime.stop import Visitor


def visitor_of(request: gr.Request | None, hosted: bool) -> Visitor:
    """The visitor's connection and, in hosted mode, address, which a Space's proxy appends last to X-Forwarded-For."""
    if request is None:
        return Visitor()
    if not hosted:
        return Visitor(request.session_hash or "")
    forwarded = [address.strip() for address in request.headers.get("x-forwarded-for", "").split(",")]
    return Visitor(request.session_hash or "", forwarded[-1] or (request.client.host if request.client else ""))
