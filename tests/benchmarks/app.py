"""How long until it is there? Start to usable page in a real browser, and the Similarity handler, warm."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sbert_app.jobs.similarity.pair import compare
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench, warm_up
from sbert_app.settings import Settings
from sbert_app.ui.similarity import view
from tests.browser.chromium import chromium, free_port

STARTS = 3


def start_seconds() -> list[float]:
    """Seconds from `python app.py` to a page whose first comparison can be typed, a few times."""
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as home:
        browser = playwright.chromium.launch(**chromium())
        for _ in range(STARTS):
            port = free_port()
            env = os.environ | {"GRADIO_SERVER_PORT": str(port), "SBERT_STUDIO_HOME": home}
            begin = time.perf_counter()
            process = subprocess.Popen([sys.executable, "app.py"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                _wait_for(port, begin)
                page = browser.new_page()
                page.goto(f"http://127.0.0.1:{port}/")
                page.locator("#sentence1 textarea").wait_for()
                seconds.append(time.perf_counter() - begin)
                page.close()
            finally:
                process.terminate()
                process.wait()
    return seconds


def _wait_for(port: int, begin: float) -> None:
    """Until the server listens. Asking with the browser instead would cost the app the processor it starts on."""
    while time.perf_counter() - begin < 60:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the app did not start within 60 s")


def similarity_milliseconds() -> dict[str, float]:
    """The whole handler: validate, encode, explain, draw. Median and worst of 50 different pairs, warm."""
    with tempfile.TemporaryDirectory() as home:
        bench = Workbench(Settings(home=Path(home)))
        warm_up(bench)
        sentences = bench.examples.indexed("support_tickets.csv", bench.registry.encoder()).corpus.sentences
        times = []
        for i in range(60):
            begin = time.perf_counter()
            view.comparison(compare(bench, Session(), sentences[i], sentences[-1 - i]))
            times.append((time.perf_counter() - begin) * 1e3)
    return {"median_of_50": float(np.median(times[10:])), "worst_of_50": max(times[10:])}


def report() -> dict[str, object]:
    return {"start_to_usable_page_seconds": start_seconds(), "similarity_handler_ms": similarity_milliseconds()}
