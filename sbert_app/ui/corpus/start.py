"""What a tab shows while no corpus is open: a drop zone, recent corpora and examples."""

import gradio as gr

from sbert_app.services.corpus.corpora import CorpusService
from sbert_app.ui.corpus import view
from sbert_app.ui.kit.events import PRIVATE


def corpus_start(corpora: CorpusService, opened: gr.State) -> gr.HTML:
    """Build the block, hidden as soon as a corpus is open. assets/page.js passes its clicks to the corpus panel."""
    start = gr.HTML(view.start(corpora.saved(), corpora.hosted), elem_classes="corpus-start", js_on_load=None)
    opened.change(lambda opened: gr.HTML(visible=not opened), opened, start, **PRIVATE)
    return start
