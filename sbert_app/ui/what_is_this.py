"""The drawer "What is this?": what an embedding, the cosine and a cross-encoder are, in one picture and a few words."""

import gradio as gr

from sbert_app.ui.kit.templates import render


def build() -> None:
    """Build the drawer, closed, for all tabs."""
    gr.HTML(render("what_is_this.html"), elem_id="what-is-this", js_on_load=None)
