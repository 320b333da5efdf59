"""The app as people start and stop it: a signal ends it soon, whoever is connected and whatever is going on; nothing is lost."""

import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from gradio_client import Client, handle_file

from sbert_app.runs.run import Runs
from tests.attacks.server import ROOT, Server, starting

LABELLED = str(ROOT / "assets" / "labelled" / "requests_scored.csv")
LINES = "\n".join(f"sentence {i} about {i * 7 % 1000} parcels and {i * 13 % 997} invoices that are late" for i in range(20_000))


@pytest.fixture
def app(tmp_path) -> Iterator[Server]:
    """`python app.py` with a home, a temporary folder and a log of its own."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    temporary.mkdir()
    env = os.environ | {"SBERT_STUDIO_HOME": str(home), "SBERT_STUDIO_DEVICE": "cpu", "TMPDIR": str(temporary)}
    env |= {"http_proxy": "http://127.0.0.1:9"}  # of a company, which does not lead to the app itself
    with starting(tmp_path / "log", env) as server:
        server.home = home
        yield server


def hold_open(url: str) -> None:
    """What an open tab does."""

    def listen() -> None:
        heartbeat = f"{url}/gradio_api/heartbeat/an-open-tab"
        with suppress(httpx.HTTPError), httpx.stream("GET", heartbeat, timeout=600) as stream:  # until the app has ended
            deque(stream.iter_raw(), maxlen=0)

    threading.Thread(target=listen, daemon=True).start()


def ended_well(app: Server, number: signal.Signals) -> None:
    """Send a signal; the app ends without a fault, and leaves no temporary files."""
    app.process.send_signal(number)
    assert app.process.wait(timeout=120) == 0, app.log()  # measured: 3.1 s
    assert not any(word in app.log() for word in ("Traceback", "Aborted", "terminate called", "Segmentation")), app.log()
    assert list((app.home.parent / "tmp").glob("sbert-studio-*")) == []


def test_a_signal_ends_the_app_and_what_was_going_on_can_go_on(app):
    app.wait_for(app.answers)
    client = Client(app.url, verbose=False)
    hold_open(app.url)
    client.submit(None, LINES, [], "all-MiniLM-L6-v2", api_name="/index_corpus")
    client.submit(handle_file(LABELLED), "regression", "thorough", "all-MiniLM-L6-v2", "", api_name="/fine_tune")
    runs = Runs(app.home / "runs")
    app.wait_for(lambda: [info.state for info in runs.list()] == ["running"])
    (run,) = runs.list()

    def encoded() -> list[Path]:
        return list((app.home / "cache" / "embeddings").glob("*/[!.]*"))

    app.wait_for(lambda: len(runs.get(run.id).events()) > 1 and encoded())  # an update, and a batch: they take turns
    ended_well(app, signal.SIGTERM)
    assert [info.state for info in runs.list()] == ["interrupted"]
    assert encoded(), "it is kept"


def test_ctrl_c_ends_it_while_it_warms_up(app):
    app.wait_for(app.answers)
    hold_open(app.url)
    ended_well(app, signal.SIGINT)
