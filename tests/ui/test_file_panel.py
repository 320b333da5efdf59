"""The panel of a file of pairs: which model its scores are of."""

import gradio as gr

from sbert_app.jobs.score_pairs import PairTable, open_pairs, score_opened
from sbert_app.models.defaults import DEFAULT_ENCODER
from sbert_app.tables import read_table
from sbert_app.ui.similarity.file_panel import FilePanel


def test_a_late_event_of_the_model_that_scores_stops_nothing(shared_bench, write):
    with gr.Blocks():
        panel = FilePanel(shared_bench, gr.State(), gr.State())
    session = shared_bench.sessions.open()
    columns = open_pairs(session, read_table(write("pairs.csv", "a,b\nThe cat sat.,A cat sat.\n"), shared_bench.settings.limits))
    scoring = score_opened(shared_bench, session, columns, DEFAULT_ENCODER)
    next(scoring)
    assert panel._on_model(session, "a", DEFAULT_ENCODER) == {panel.stage: gr.skip()}
    *_, last = scoring
    assert last.result is not None and session.get(PairTable).model == DEFAULT_ENCODER
    assert panel._on_model(session, "a", "models/another")[panel.score].visible
