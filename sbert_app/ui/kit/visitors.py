"""Identify the visitor of a request, for limits per visitor."""

import gradio as gr

from sbert_app.runtime.stop import Visitor, network_address


def visitor_of(request: gr.Request | None, hosted: bool) -> Visitor:
    """The visitor's connection and, in hosted mode, address."""
    if request is None:
        return Visitor()
    if not hosted:
        return Visitor(request.session_hash or "")
    client = request.client.host if request.client else ""
    return Visitor(request.session_hash or "", network_address(request.headers.get("x-forwarded-for", ""), client))
