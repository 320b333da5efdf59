"""What the app tells its host over HTTP: alive, ready, and figures in Prometheus' form, without a word of a visitor."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from gradio_client.exceptions import AppError

from sbert_app.labelled.examples import Examples
from sbert_app.labelled.splits import split
from sbert_app.models.files.finding import DEFAULT_ENCODER
from sbert_app.runs.plan import Plan
from sbert_app.runs.run import Run
from sbert_app.runtime.line import Stop
from sbert_app.settings import Settings
from tests.served import Served

KEY = "sk-only-for-this-test"
MARKERS = ("xanthippe", "zebrawood", "quagmire")  # a visitor's words: in a file's name, its rows, a query


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = Settings(home=tmp_path_factory.mktemp("home"), device="cpu", hosted=True, metrics=True, key=KEY)
    with closing(Served(settings)) as app:
        yield app


def figures(app: Served) -> dict[str, float]:
    """What /metrics says, by name and labels."""
    answer = app.http.get("metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def grown(app: Served, before: dict[str, float]) -> dict[str, float]:
    """How many more jobs have ended."""
    return {
        re.sub(r"sbert_studio_|_total", "", name): value - before.get(name, 0)
        for name, value in figures(app).items()
        if name.startswith("sbert_studio_jobs_total") and value > before.get(name, 0)
    }


def test_an_app_is_alive_at_once_and_ready_when_its_model_is_loaded_and_its_home_can_be_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(Served(Settings(home=home, device="cpu", key=KEY))) as app:
        assert (app.http.get("healthz").status_code, app.http.get("healthz").text) == (200, "ok")
        answer = app.http.get("readyz")
        assert answer.status_code == 503 and answer.json() == {"ready": False, "missing": ["model"]}
        app.bench.registry.encoder(DEFAULT_ENCODER)
        answer = app.http.get("readyz")
        assert answer.status_code == 200 and answer.json() == {"ready": True, "missing": []}
        home.rename(tmp_path / "elsewhere")
        home.write_text("no folder")
        answer = app.http.get("readyz")
        assert answer.status_code == 503 and answer.json() == {"ready": False, "missing": ["data home"]}
        assert app.http.get("metrics").status_code == 404, "nobody asked for figures"


def test_jobs_are_counted_by_door_and_outcome_and_nothing_of_a_visitor_is_told(app: Served, tmp_path: Path) -> None:
    file = tmp_path / f"{MARKERS[0]}.csv"
    file.write_text("text\n" + "\n".join(f"{MARKERS[1]} number {i}" for i in range(30)))
    client, before = Client(app.url, verbose=False), figures(app)
    corpus = client.predict(handle_file(str(file)), "", ["text"], DEFAULT_ENCODER, api_name="/index_corpus")["corpus"]
    for _ in range(2):
        client.predict(corpus, MARKERS[2], 1, api_name="/search")
    with pytest.raises(AppError, match="Unknown ranking"):
        client.predict(corpus, MARKERS[2], 1, {}, False, False, "", MARKERS[0], api_name="/search")
    assert app.http.post("v1/embeddings", json={"model": DEFAULT_ENCODER, "input": MARKERS[2]}).status_code == 401
    assert grown(app, before) == {
        'jobs{door="api",job="index_corpus",outcome="ok"}': 1,
        'jobs{door="api",job="search",outcome="ok"}': 2,
        'jobs{door="api",job="search",outcome="refused"}': 1,
        'jobs{door="v1",job="embeddings",outcome="refused"}': 1,
    }
    seconds = figures(app)
    assert seconds['sbert_studio_job_seconds_count{door="api",job="search"}'] == 3
    assert seconds['sbert_studio_job_seconds_sum{door="api",job="index_corpus"}'] > 0
    text = app.http.get("metrics").text.lower()
    assert [marker for marker in (*MARKERS, corpus.lower(), DEFAULT_ENCODER.lower(), str(tmp_path)) if marker in text] == []


def test_what_the_workbench_holds_is_read_when_it_is_asked_for(app: Served, scored: Examples) -> None:
    bench, before = app.bench, figures(app)
    assert before['sbert_studio_queue_jobs{line="corpora",state="running"}'] == 0
    session = bench.sessions.open()
    session.put(["a text that is counted"] * 1_000)
    bench.embedder.embed(bench.registry.encoder(), ["a sentence that nobody has asked for"])
    Run.create(bench.settings.runs, MARKERS[0], "", Plan(DEFAULT_ENCODER, "regression"), split(scored))
    first, second = Stop(), Stop()
    with bench.lines.maps.join(first) as turn, bench.lines.maps.join(second) as later, bench.device.hold():
        assert list(turn) == [] and next(later) == 1
        now = figures(app)
        assert now['sbert_studio_queue_jobs{line="maps",state="running"}'] == 1
        assert now['sbert_studio_queue_jobs{line="maps",state="waiting"}'] == 1
        time.sleep(0.02)
        assert figures(app)["sbert_studio_device_seconds_total"] > now["sbert_studio_device_seconds_total"], "held meanwhile"
    after = figures(app)
    assert figures(app)["sbert_studio_device_seconds_total"] == after["sbert_studio_device_seconds_total"], "free"
    assert after["sbert_studio_sessions"] == before["sbert_studio_sessions"] + 1
    assert after["sbert_studio_session_bytes"] > before["sbert_studio_session_bytes"]
    missed = 'sbert_studio_cached_sentences_total{result="miss"}'
    assert after[missed] == before[missed] + 1
    assert after['sbert_studio_training_runs{state="interrupted"}'] == 1
    session.close()


def test_who_comes_through_a_proxy_as_visitors_do_needs_the_key(app: Served) -> None:
    through = {"X-Forwarded-For": "1.2.3.4"}
    assert app.http.get("metrics", headers=through).status_code == 404
    assert app.http.get("metrics", headers=through | {"Authorization": "Bearer wrong"}).status_code == 404
    assert app.http.get("metrics", headers=through | {"Authorization": f"Bearer {KEY}"}).status_code == 200
    assert app.http.get("healthz", headers=through).status_code == 200
