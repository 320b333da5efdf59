"""The Duplicates tab: duplicates within the corpus, and rows of another file that occur in it."""

import gradio as gr

from sbert_app.services.bundle import Services
from sbert_app.ui.corpus.start import corpus_start
from sbert_app.ui.duplicates.overlap_panel import OverlapPanel
from sbert_app.ui.duplicates.panel import DuplicatesPanel
from sbert_app.ui.kit.events import PRIVATE

LEAD = "Find sentences that **repeat** each other, word for word or in other words. Decide which of them go."


def build(services: Services, session_id: gr.State, opened: gr.State) -> gr.HTML:
    """Build both panels. `opened` changes with the corpus. Returns the choice of corpora shown while none is open."""
    gr.Markdown(LEAD, elem_classes="lead")
    start = corpus_start(services.corpora, opened)
    with gr.Column(visible=False) as body:
        duplicates = DuplicatesPanel(services.duplicates, session_id, opened)
        OverlapPanel(services, session_id, opened)
        duplicates.draw_groups()
        duplicates.listen()
    opened.change(lambda opened: gr.Column(visible=bool(opened)), opened, body, **PRIVATE)
    return start
