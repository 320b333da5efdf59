"""Gradio's queue serves visitors in turn: 200 quick requests of one delay another's by the two that are at work."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import gradio as gr
import httpx
import pytest

from sbert_app.ui.app import QUICK_AT_ONCE, QUICK_OF_ONE
from sbert_app.ui.gradio_changes import take_turns
from tests.browser.chromium import free_port

MANY, ANN, BOB = 200, "ann", "bob"


class Served:
    """A page with a handler that works until it is let go, one by one. order: who was served."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self._begun, self._let_go = threading.Condition(), threading.Semaphore(0)

        def work(name: str) -> str:
            with self._begun:
                self.order.append(name)
                self._begun.notify_all()
            self._let_go.acquire()
            return name

        with gr.Blocks(analytics_enabled=False) as page:
            gr.Button().click(work, gr.Textbox(), gr.Textbox(), api_name="work")
        page.queue(default_concurrency_limit=QUICK_AT_ONCE)
        take_turns(page, QUICK_OF_ONE, lambda event: event.request.headers["x-name"])
        options = {"server_name": "127.0.0.1", "server_port": free_port(), "prevent_thread_lock": True, "quiet": True}
        _, self.url, _ = page.launch(ssr_mode=False, max_threads=128, **options)
        self.page = page

    def ask(self, name: str, **more: str) -> str:
        """The id of the event."""
        asked = {"json": {"data": [name], **more}, "headers": {"x-name": name}, "timeout": 60}
        return httpx.post(f"{self.url}gradio_api/call/work", **asked).raise_for_status().json()["event_id"]

    def until(self, count: int) -> None:
        """Until so many have begun."""
        with self._begun:
            assert self._begun.wait_for(lambda: len(self.order) >= count, 60), self.order

    def let_go(self, count: int = 1) -> None:
        self._let_go.release(count)


@pytest.fixture
def served() -> Iterator[Served]:
    app = Served()
    yield app
    app.let_go(2 * MANY)
    app.page.close()


def test_of_two_with_many_neither_waits_for_the_other(served: Served) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(served.ask, [ANN] * MANY))
        served.until(QUICK_OF_ONE)
        list(pool.map(served.ask, [BOB] * 40))
    served.until(2 * QUICK_OF_ONE)
    assert served.order.count(BOB) == QUICK_OF_ONE
    served.let_go(2 * MANY)
    served.until(MANY + 40)
    assert BOB not in served.order[120:]  # he was through long before her last ones


def test_a_request_that_is_taken_back_leaves_the_queue(served: Served) -> None:
    for _ in range(QUICK_OF_ONE):
        served.ask(ANN)
    served.until(QUICK_OF_ONE)
    asked = {"session_hash": "gone", "fn_index": 0, "event_id": served.ask(ANN, session_hash="gone")}
    httpx.post(f"{served.url}gradio_api/cancel", json=asked, headers={"x-name": ANN})
    queue = served.page._queue
    deadline = time.monotonic() + 60
    while len(queue) and time.monotonic() < deadline:
        time.sleep(0.01)
    served.ask(BOB)
    served.let_go(2 * MANY)
    served.until(QUICK_OF_ONE + 1)
    assert served.order == [ANN] * QUICK_OF_ONE + [BOB]
