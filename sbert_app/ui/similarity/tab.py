"""The Similarity tab: score and explain a pair of sentences, compare two lists, or score a file of pairs."""

import gradio as gr

from sbert_app.services.bundle import Services
from sbert_app.ui.similarity.file_panel import FilePanel
from sbert_app.ui.similarity.lists_panel import ListsPanel
from sbert_app.ui.similarity.pair_panel import PairPanel


def build(services: Services, session_id: gr.State, model: gr.State, opened: gr.State) -> None:
    """Build the tab. `opened` changes with the corpus, which calibrates the scores."""
    gr.Markdown("Compare what two sentences **mean**: each becomes a vector, and the score is their cosine.", elem_classes="lead")
    with gr.Tabs():
        with gr.Tab("Two sentences", id="pair"):
            PairPanel(services.similarity, session_id, model, opened)
        with gr.Tab("Two lists", id="lists"):
            ListsPanel(services.similarity, model)
        with gr.Tab("A file of pairs", id="pair-file"):
            FilePanel(services.pair_files, session_id, model)
