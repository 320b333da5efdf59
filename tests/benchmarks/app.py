"""How long until it is there? Start to page and file to first hits in a real browser; the Similarity handler, warm."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from sbert_app.jobs.similarity.pair import compare
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench, warm_up
from sbert_app.settings import Settings
from sbert_app.ui.similarity import view
from tests.attacks.server import starting
from tests.benchmarks import data
from tests.benchmarks.timing import milliseconds
from tests.browser.chromium import chromium
from tests.browser.corpus import open_menu

STARTS = 3
ROWS = (10_000, 100_000, 300_000)  # of dropped files
WORDS = 9  # at most, of a row: about 12 tokens
SEARCH_EVERY = 5.0  # seconds, of a person who searches while the model reads a file
QUERY = "how can I lose weight without going hungry"


@contextmanager
def app(home: str) -> Iterator[tuple[str, float]]:
    """The address of `python app.py` as soon as it listens, and when it was started."""
    begin = time.perf_counter()
    with starting(Path(home) / "app.log", os.environ | {"SBERT_STUDIO_HOME": home}) as server:
        server.wait_for(lambda: listens(urlsplit(server.url).port), pause=0.05)
        yield server.url, begin


def listens(port: int | None) -> bool:
    """Whether a server does. Asking with the browser instead would cost the app the processor it starts on."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(**chromium())


def start_seconds() -> list[float]:
    """Seconds from `python app.py` to a page whose first comparison can be typed, a few times."""
    seconds = []
    with browser() as chrome, tempfile.TemporaryDirectory() as home:
        for _ in range(STARTS):
            with app(home) as (url, begin):
                page = chrome.new_page()
                page.goto(url)
                page.locator("#sentence1 textarea").wait_for()
                seconds.append(time.perf_counter() - begin)
                page.close()
    return seconds


def file_seconds(rows: int, search: bool = False) -> dict[str, float]:
    """Seconds from a file's drop until it is read, until a query's first hits are there, and until the model has read all rows.

    search: search every SEARCH_EVERY seconds meanwhile. The home is fresh; the app is idle when the file comes.
    """
    with browser() as chrome, tempfile.TemporaryDirectory() as home, app(home) as (url, _):
        path = Path(home) / "rows.txt"
        texts = (" ".join(text.split()[:WORDS]) for text in data.many_sentences(3 * rows if rows < 200_000 else rows))
        path.write_text("\n".join(list(dict.fromkeys(texts))[:rows]))
        page = chrome.new_page()
        page.set_default_timeout(1_800_000)
        page.goto(f"{url}/?tab=search")
        page.locator("body.arrived").wait_for()
        page.wait_for_timeout(20_000)  # until the models are loaded and the examples are read
        open_menu(page)
        page.wait_for_timeout(1_000)  # until the panel is drawn
        begin, seconds = time.perf_counter(), dict[str, float]()
        page.locator("#corpus-file input[type=file]").set_input_files(str(path))
        _wait(page, "#index")
        page.evaluate("document.querySelector('#index').click()")
        _wait(page, "#status", "rows.txt")
        _wait(page, "#query input, #query textarea")
        seconds["can be searched"] = time.perf_counter() - begin
        _search(page)
        seconds["first hits"] = time.perf_counter() - begin
        answers, due = [], time.perf_counter() + SEARCH_EVERY
        while "can be searched" in page.locator("#corpus-notice").inner_text():
            page.wait_for_timeout(100)
            if search and time.perf_counter() > due:
                answers.append(_search(page))
                due = time.perf_counter() + SEARCH_EVERY
        seconds["read by the model"] = time.perf_counter() - begin
        return seconds | ({"a query, p50": float(np.median(answers))} if answers else {})


def _search(page: Any) -> float:
    """Seconds until the hits of a query, another one each time, are there."""
    start, query = time.perf_counter(), f"{QUERY} {time.perf_counter_ns() % 1_000}"
    page.locator("#query input, #query textarea").fill(query)
    page.evaluate("document.querySelector('#search').click()")
    _wait(page, f'#hits [data-query="{query}"] .hit')
    return time.perf_counter() - start


def _wait(page: Any, selector: str, text: str = "") -> None:
    """Wait until something visible and enabled has the text, to a frame: Playwright's own waits look twice a second at last."""
    shown = "[...document.querySelectorAll(s)].some(e => e.offsetParent && !e.disabled && e.innerText.includes(t))"
    page.wait_for_function(f"([s, t]) => {shown}", arg=[selector, text], polling="raf")


def similarity_milliseconds() -> dict[str, float]:
    """The whole handler: validate, encode, explain, draw. Median and worst of 50 different pairs, warm."""
    with tempfile.TemporaryDirectory() as home:
        bench = Workbench(Settings(home=Path(home)))
        warm_up(bench)
        sentences = bench.examples.indexed("support_tickets.csv", bench.registry.encoder()).corpus.sentences
        times = milliseconds(lambda i: view.comparison(compare(bench, Session(), sentences[i], sentences[-1 - i])), range(60))
    return {"median_of_50": float(np.median(times[10:])), "worst_of_50": max(times[10:])}


def report() -> dict[str, object]:
    return {
        "start_to_usable_page_seconds": start_seconds(),
        "similarity_handler_ms": similarity_milliseconds(),
        "dropped_file_seconds": {f"{rows:,} rows": file_seconds(rows) for rows in ROWS},
    }
