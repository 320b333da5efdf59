"""Handlers of tabs without a browser: a session that is found again shows what it holds; no model is measured twice."""

from contextlib import suppress
from dataclasses import replace

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus_map.result import CorpusMap, ModelComparison
from sbert_app.errors import UserError
from sbert_app.grid.systems import SBERT, TF_IDF
from sbert_app.jobs.evaluate.grid import ShownGrid
from sbert_app.jobs.fine_tune import preparing
from sbert_app.jobs.map.job import ClusterOptions, draw
from sbert_app.jobs.map.kept import preview
from sbert_app.ui.evaluation.tab import EvaluationTab
from sbert_app.ui.fine_tune.tab import FineTuneTab
from sbert_app.ui.header import ModelPicker
from sbert_app.ui.map.tab import MapTab
from sbert_app.ui.timing.tab import TimingTab
from tests.attacks.small_home import tiny_model
from tests.searching import indexed
from tests.ui.test_race_view import RESULT

MODEL, MINE = "all-MiniLM-L6-v2", "mine"


def open_lines(bench, session, count):
    """Open a corpus of so many sentences. Fewer than 16 are too few for UMAP, which is slow to start."""
    indexed(bench, [f"line {i} about {'cats' if i % 2 else 'bills'}" for i in range(count)], session)


def test_the_map_comes_back_with_its_clusters_and_its_comparison(shared_bench, session):
    open_lines(shared_bench, session, 12)
    with gr.Blocks():
        tab = MapTab(shared_bench, gr.State(), gr.State())
    assert tab._on_opened(session, MODEL)[tab.plot] is None
    cleared = tab._on_opened(session, MODEL)
    assert cleared[tab.bar.start].variant == "primary" and cleared[tab.bar.start].value == "Draw the map of 12 rows"
    *_, drawn = draw(shared_bench, session, ClusterOptions.read("k-means", 2))
    assert isinstance(drawn, CorpusMap)
    shown = tab._on_opened(session, MODEL)
    assert shown[tab.plot].layout.meta["map"] == drawn.projection.id
    assert shown[tab.bar.start].variant == "secondary" and shown[tab.bar.start].value == "Draw again"
    assert shown[tab.bar.options.count] == "2" and drawn.names[0] in shown[tab.panel.groups]
    assert not shown[tab.panel.compare.share].visible and preview(shared_bench, session, MODEL) is None
    points = drawn.projection.points
    compared = ModelComparison("other", points + 1, np.ones(len(points), np.float32), {})
    session.put(replace(drawn, comparison=compared))
    shown = tab._on_opened(session, MODEL)
    assert shown[tab.panel.compare.share].visible and drawn.projection.id in shown[tab.panel.bridge]
    open_lines(shared_bench, session, 11)
    cleared = tab._on_opened(session, MODEL)
    assert cleared[tab.plot] is None and cleared[tab.panel.groups] == ""


def test_the_race_comes_back(shared_bench, session):
    with gr.Blocks():
        tab = TimingTab(shared_bench, gr.State(), gr.State())
    open_lines(shared_bench, session, 24)
    before = tab._on_opened(session, 4)
    assert not before[tab.result].visible and "In the paper" in before[tab.words]
    with pytest.raises(UserError, match="There is no race result yet"):
        tab._page(session, 4)
    session.put(RESULT)
    shown = tab._on_opened(session, 4)
    assert shown[tab.result].visible and "10,000" in shown[tab.words] and shown[tab.chart] is not None
    assert "On this machine" in shown[tab.words]
    open_lines(shared_bench, session, 23)
    assert not tab._on_opened(session, 4)[tab.result].visible


def test_an_event_that_waited_brings_no_older_split_back(shared_bench, session):
    with gr.Blocks():
        tab = FineTuneTab(shared_bench, gr.State(), gr.State(""), ModelPicker(shared_bench))
    data = preparing.load(shared_bench, session, preparing.example_table("requests_scored.csv", shared_bench.settings.limits))
    roles = zip(tab.data.columns, ("scored", "sentence1", "sentence2", "", "score", ""), strict=True)
    values = dict.fromkeys([*tab.data.split, *tab.plan.tuned], "") | dict(roles) | {tab.data.split_by: "pairs"}
    values |= {tab._session: session, tab._model: MODEL, tab.plan.preset: "quick", tab.plan.cross: ""}
    shown = tab._on_preset(values)
    assert shown[tab.plan.base] == MODEL and shown[tab.plan.start].value == f"Start training {MODEL}"
    with suppress(UserError):  # the settings are blank
        list(tab._on_estimate(values))
    assert preparing.current(session) is data


def test_every_model_but_the_headers_is_offered_for_measuring_and_none_is_measured_twice(bench):
    tiny_model(bench.settings.models / MINE)
    with gr.Blocks():
        tab = EvaluationTab(bench, gr.State(), gr.State())
    for model, other in ((MODEL, MINE), (MINE, MODEL)):
        updates = tab._on_model(model, [model, other])
        names = [name for _, name in updates[tab.models].choices]
        assert other in names and model not in names and updates[tab.models].value == [other]
        assert updates[next(iter(tab.systems))].label == f"This model: {model}"
    session = bench.sessions.open()
    steps = tab._on_start(session, MINE, ["Tickets by team"], [MINE, MODEL], [SBERT], [TF_IDF])
    next(steps), next(steps)
    steps.close()
    assert session.get(ShownGrid).grid.systems == (SBERT, TF_IDF, MODEL)
