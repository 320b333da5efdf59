"""How long until it is there? Start to page and file to first hits in a real browser; the Similarity handler, warm; memory."""

import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil
from gradio_client import Client, handle_file

from sbert_app.jobs.similarity import SimilarityOptions, compare
from sbert_app.runtime.session import Session
from sbert_app.runtime.workbench import Workbench, warm_up
from sbert_app.settings import Settings
from sbert_app.ui.similarity import view
from tests.attacks.server import serving, starting
from tests.benchmarks import data
from tests.benchmarks.timing import milliseconds
from tests.browser.chromium import chromium
from tests.browser.corpus import open_menu

STARTS = 3
ROWS = (10_000, 100_000, 300_000)  # of dropped files
WORDS = 9  # at most, of a row: about 12 tokens
QUERY = "how can I lose weight without going hungry"
ROUNDS = int(os.environ.get("ROUNDS", "3"))  # each with another corpus
CORPUS_ROWS = 5_000  # of 30 to 190 tokens
QUERIES = 40
IDLE_SECONDS = 20
PAIRS = "assets/labelled/requests_scored.csv"
CLASSES = "assets/labelled/instructions_labelled.csv"
SYSTEMS = ["sbert", "sbert-max", "cross-encoder", "word-vectors", "tf-idf", "word-overlap", "svr"]
GOALS = {"end": 2_000, "peak": 2_600}  # megabytes resident


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


def file_seconds(rows: int) -> dict[str, float]:
    """Seconds from a file's drop until it is read, until a query's first hits are there, and until the model has read all rows.

    The home is fresh; the app is idle when the file comes.
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
        page.locator("#query input, #query textarea").fill(QUERY)
        page.evaluate("document.querySelector('#search').click()")
        _wait(page, f'#hits [data-query="{QUERY}"] .hit')
        seconds["first hits"] = time.perf_counter() - begin
        while "can be searched" in page.locator("#corpus-notice").inner_text():
            page.wait_for_timeout(100)
        seconds["read by the model"] = time.perf_counter() - begin
        return seconds


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
        asked = [SimilarityOptions(sentences[i], sentences[-1 - i]) for i in range(60)]
        times = milliseconds(lambda i: view.comparison(compare(bench, Session(), asked[i])), range(60))
    return {"median_of_50": float(np.median(times[10:])), "worst_of_50": max(times[10:])}


def report() -> dict[str, object]:
    return {
        "start_to_usable_page_seconds": start_seconds(),
        "similarity_handler_ms": similarity_milliseconds(),
        "dropped_file_seconds": {f"{rows:,} rows": file_seconds(rows) for rows in ROWS},
    }


def memory() -> dict[str, object]:
    """The work of a person's forty minutes, as fast as it goes; what the app holds meanwhile.

    Megabytes when it is ready, after each step of each round, and after a minute of rest; the share of a core at rest.
    """
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "home", hosted=False) as server:
        process = psutil.Process(server.process.pid)
        time.sleep(30)  # the default encoder is converted meanwhile
        held = {"ready": _held(server.process.pid)}
        idle, client = _share_of_a_core(process), Client(server.url, verbose=False)
        for number in range(ROUNDS):
            for name in _round(client, number):
                held[f"{number + 1}: {name}"] = _held(server.process.pid)
                print(f"{number + 1}: {name:22}", held[f"{number + 1}: {name}"], flush=True)
        time.sleep(60)
        held["at rest"] = _held(server.process.pid)
        print(held["at rest"], flush=True)
        return {"memory_megabytes": held, "goals": GOALS, "idle_share": [idle, _share_of_a_core(process)]}


def _round(client: Client, number: int) -> Iterator[str]:
    """Use every tab once; yield the name of each step that was done."""
    sentences = _texts(number)
    corpus = client.predict(lines="\n".join(sentences), api_name="/index_corpus")["corpus"]
    yield f"index {CORPUS_ROWS:,} rows"
    queries = [" ".join(sentence.split()[:8]) for sentence in sentences[:QUERIES]]
    for query in queries:
        client.predict(corpus=corpus, query=query, ranking="maxsim", api_name="/search")
    yield f"{QUERIES} searches"
    for query in queries[:10]:
        client.predict(corpus=corpus, query=query, rerank=True, api_name="/search")
    yield "10 searches, re-ranked"
    for method in ("k-means", "HDBSCAN"):
        client.predict(corpus=corpus, method=method, api_name="/cluster_map")
        yield f"map, {method}"
    client.predict(corpus=corpus, api_name="/duplicates")
    yield "duplicates"
    for i in range(0, 2 * QUERIES, 2):
        client.predict(sentences[i][:200], sentences[i + 1][:200], api_name="/similarity")
    yield f"{QUERIES} comparisons"
    last: Any = client.predict(file=handle_file(PAIRS), epochs=1, api_name="/fine_tune")
    yield "fine-tune"
    client.predict(lines="\n".join(sentences[:500]), model=last["model"], api_name="/index_corpus")
    yield "index 500 with it"
    client.predict(sentences=1_000, api_name="/timing")
    yield "timing"
    client.predict(file=handle_file(PAIRS), systems=SYSTEMS, api_name="/evaluate")
    yield "evaluate pairs"
    client.predict(file=handle_file(CLASSES), systems=["sbert", "tf-idf"], api_name="/evaluate")
    yield "evaluate classes"


def _texts(number: int) -> list[str]:
    """Rows of three to ten real sentences, others in each round."""
    chance, sentences = random.Random(number), data.many_sentences(50_000)
    return [" ".join(chance.sample(sentences, chance.randint(3, 10))).replace("\n", " ") for _ in range(CORPUS_ROWS)]


def _held(process_id: int) -> dict[str, int]:
    """Megabytes resident now and at most since the last look; of those now the share of the heap and of mapped files."""
    of = Path(f"/proc/{process_id}")
    status = _fields((of / "status").read_text())
    pss = _fields((of / "smaps_rollup").read_text().split("\n", 1)[1])
    (of / "clear_refs").write_text("5")  # the peak counts anew
    kept = {"resident": status["VmRSS"], "peak": status["VmHWM"], "heap": pss["Pss_Anon"], "files": pss["Pss_File"]}
    return {name: kilobytes * 1_024 // 1_000_000 for name, kilobytes in kept.items()} | {"threads": status["Threads"]}


def _fields(text: str) -> dict[str, int]:
    """The numbers of the lines "Name:  12 kB"."""
    fields = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return {name: int(value.split()[0]) for name, value in fields if value.split() and value.split()[0].isdigit()}


def _share_of_a_core(process: psutil.Process) -> float:
    """The processor time of a process at rest, 0..1 of one core."""
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_SECONDS)
    return (sum(process.cpu_times()[:2]) - before) / IDLE_SECONDS
