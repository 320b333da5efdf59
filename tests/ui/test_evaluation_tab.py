"""The Evaluation tab: beside the header's model every other one is offered, and none is measured twice."""

import gradio as gr
import pytest

from sbert_app.grid.systems import SBERT, TF_IDF
from sbert_app.jobs.evaluate.grid import ShownGrid
from sbert_app.ui.evaluation.tab import EvaluationTab
from tests.attacks.small_home import tiny_model

BASE, MINE = "all-MiniLM-L6-v2", "mine"


@pytest.fixture
def tab(bench):
    tiny_model(bench.settings.models / MINE)
    with gr.Blocks():
        return EvaluationTab(bench, gr.State(), gr.State())


@pytest.mark.parametrize(("model", "other"), [(BASE, MINE), (MINE, BASE)])
def test_every_model_but_the_headers_is_offered(tab, model, other):
    updates = tab._on_model(model, [model, other])
    names = [name for _, name in updates[tab.models].choices]
    assert other in names and model not in names and updates[tab.models].value == [other]
    assert updates[next(iter(tab.systems))].label == f"This model: {model}"


def test_the_headers_model_is_one_row(tab, bench):
    session = bench.sessions.open()
    steps = tab._on_start(session, MINE, ["Tickets by team"], [MINE, BASE], [SBERT], [TF_IDF])
    next(steps), next(steps)
    steps.close()
    assert session.get(ShownGrid).grid.systems == (SBERT, TF_IDF, BASE)
