"""A page that finds its session again shows what that holds: the map, its comparison, the race; another corpus clears them."""

from dataclasses import replace

import gradio as gr
import numpy as np
import pytest

from sbert_app.corpus_map.result import CorpusMap, ModelComparison
from sbert_app.mapping.drift import Drift
from sbert_app.services.cluster_map import Grouping, MapService
from sbert_app.services.corpora import CorpusService
from sbert_app.services.evaluation import EvaluationService
from sbert_app.services.timing import TimingService
from sbert_app.timing.result import Conditions, TimingResult
from sbert_app.timing.throughput import Throughput, Turn
from sbert_app.ui.map.tab import _MapTab
from sbert_app.ui.timing.tab import _TimingTab

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def session(shared_bench):
    session, corpora = shared_bench.sessions.open(), CorpusService(shared_bench)
    lines = [f"sentence {i} about {'cats' if i % 2 else 'bills'}" for i in range(24)]
    corpora.put_table(session.id, corpora.read_lines("\n".join(lines)))
    list(corpora.index(session.id, ["text"]))
    return session


@pytest.fixture
def result():
    even = Throughput((Turn(100, 0.5), Turn(101, 0.5)))
    conditions = Conditions("lines", 24, "a", "b", True, True, "2 cores", "cpu", (256, 512), "2026-11-22")
    return TimingResult(conditions, even, even, even)


def test_the_map_comes_back_with_its_clusters_and_its_comparison(shared_bench, session):
    service = MapService(shared_bench)
    with gr.Blocks():
        tab = _MapTab(service, gr.State(), gr.State())
    assert tab._on_opened(session.id, MODEL)[tab.plot] is None
    assert not tab._on_opened(session.id, MODEL)[tab.controls].visible
    *_, drawn = service.draw(session.id, Grouping.read("k-means", 2))
    assert isinstance(drawn, CorpusMap)
    shown = tab._on_opened(session.id, MODEL)
    assert shown[tab.plot].layout.meta["map"] == drawn.projection.id
    assert shown[tab.controls].visible and shown[tab.result].visible
    assert shown[tab.options.count] == "2" and drawn.names[0] in shown[tab.clusters]
    assert not shown[tab.compare.share].visible and service.preview(session.id, MODEL) is None
    points = drawn.projection.points
    drift = Drift(points + 1, np.ones(len(points), np.float32))
    session.put(replace(drawn, comparison=ModelComparison("other", drift, {})))
    shown = tab._on_opened(session.id, MODEL)
    assert shown[tab.compare.share].visible and drawn.projection.id in shown[tab.answers.bridge]
    CorpusService(shared_bench).open_example(session.id, "field_notes.csv")
    cleared = tab._on_opened(session.id, MODEL)
    assert cleared[tab.plot] is None and not cleared[tab.result].visible and cleared[tab.clusters] == ""


def test_the_race_comes_back(shared_bench, session, result):
    with gr.Blocks():
        tab = _TimingTab(TimingService(shared_bench, EvaluationService(shared_bench)), gr.State(), gr.State())
    assert not tab._on_opened(session.id, 4)[tab.result].visible
    session.put(result)
    shown = tab._on_opened(session.id, 4)
    assert shown[tab.result].visible and "10,000" in shown[tab.words] and shown[tab.chart] is not None
    assert "Nothing measured yet" not in shown[tab.progress]
    CorpusService(shared_bench).open_example(session.id, "field_notes.csv")
    assert not tab._on_opened(session.id, 4)[tab.result].visible
