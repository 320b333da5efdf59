"""The Duplicates sub-tab: duplicates within the corpus, and rows of another file that occur in it."""

import gradio as gr

from sbert_app.services.bundle import Services
from sbert_app.ui.duplicates.overlap_panel import OverlapPanel
from sbert_app.ui.duplicates.panel import DuplicatesPanel


def build(services: Services, session_id: gr.State, opened: gr.State) -> None:
    """Build both panels. `opened` changes with the corpus."""
    DuplicatesPanel(services.duplicates, session_id, opened)
    OverlapPanel(services, session_id, opened)
