"""What the app changes in Gradio: visitors are served in turn, a page costs little, a head that does not end is not waited for."""

import asyncio
import contextlib
import inspect
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import gradio as gr
import httpx
import pytest
import uvicorn
from gradio import state_holder
from gradio.blocks import BlocksConfig

from sbert_app.ui import gradio_changes
from sbert_app.ui.app import QUICK_AT_ONCE, QUICK_OF_ONE, build_app
from tests.browser.chromium import free_port
from tests.served import in_the_end

MANY, ANN, BOB = 100, "ann", "bob"
BOUND, MOST = 0.5, 5.0  # seconds for a head, and until its connection is closed
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
MOST_BYTES = 150_000
PAGES = 20


class Served:
    """A page with a handler that works until it is let go, one by one. order: who was served."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self._begun, gate = threading.Condition(), threading.Semaphore(0)
        self.let_go = gate.release

        def work(name: str) -> str:
            with self._begun:
                self.order.append(name)
                self._begun.notify_all()
            gate.acquire()
            return name

        with gr.Blocks(analytics_enabled=False) as page:
            gr.Button().click(work, gr.Textbox(), gr.Textbox(), api_name="work")
        page.queue(default_concurrency_limit=QUICK_AT_ONCE)
        gradio_changes.take_turns(page, QUICK_OF_ONE, lambda event: event.request.headers["x-name"])
        options = {"server_name": "127.0.0.1", "server_port": free_port(), "prevent_thread_lock": True, "quiet": True}
        _, url, _ = page.launch(ssr_mode=False, max_threads=128, **options)
        self.page, self.http = page, httpx.Client(base_url=url, timeout=60)

    def ask(self, name: str, **more: str) -> str:
        """The id of the event."""
        asked = {"json": {"data": [name], **more}, "headers": {"x-name": name}}
        return self.http.post("gradio_api/call/work", **asked).raise_for_status().json()["event_id"]

    def until(self, count: int) -> None:
        """Until so many have begun."""
        with self._begun:
            assert self._begun.wait_for(lambda: len(self.order) >= count, 60), self.order


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
        list(pool.map(served.ask, [BOB] * 20))
    served.until(2 * QUICK_OF_ONE)
    assert served.order.count(BOB) == QUICK_OF_ONE
    served.let_go(2 * MANY)
    served.until(MANY + 20)
    assert BOB not in served.order[75:]  # he was through long before her last ones


def test_a_request_that_is_taken_back_leaves_the_queue(served: Served) -> None:
    for _ in range(QUICK_OF_ONE):
        served.ask(ANN)
    served.until(QUICK_OF_ONE)
    asked = {"session_hash": "gone", "fn_index": 0, "event_id": served.ask(ANN, session_hash="gone")}
    served.http.post("gradio_api/cancel", json=asked, headers={"x-name": ANN})
    queue = served.page._queue
    assert in_the_end(lambda: not len(queue))
    served.ask(BOB)
    served.let_go(2 * MANY)
    served.until(QUICK_OF_ONE + 1)
    assert served.order == [ANN] * QUICK_OF_ONE + [BOB]


async def app(scope, receive, send):
    """Answers slowly."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await asyncio.sleep(2 * BOUND)
        await send({"type": "http.response.body", "body": b"slow"})


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(gradio_changes, "HEAD_SECONDS", BOUND)
    monkeypatch.setitem(gradio_changes.HTTP_PROTOCOLS, "auto", gradio_changes.HTTP_PROTOCOLS["auto"])
    gradio_changes.bound_heads()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=20))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


def read(connection: socket.socket) -> bytes:
    """What comes until the other side closes, at most for ten seconds."""
    connection.settimeout(10)
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(4096):
            parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_complete_head_is_closed(port, begun):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.monotonic()
        connection.sendall(begun)
        assert read(connection) == b"" and time.monotonic() - start < MOST


def test_a_slow_answer_is_not_cut_and_a_second_head_is_bound_too(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(REQUEST)
        connection.settimeout(20)
        answer = b""
        while not answer.endswith(b"slow"):
            answer += connection.recv(4096)
        start = time.monotonic()
        connection.sendall(REQUEST[:10])
        assert read(connection) == b"" and time.monotonic() - start < MOST


@pytest.fixture(scope="module")
def page(shared_bench):
    return build_app(shared_bench)


def test_a_page_costs_little_and_keeps_its_state(page, monkeypatch):
    page.state_session_capacity = 1_000
    monkeypatch.setattr(state_holder, "SessionState", state_holder.SessionState)  # put back after the test
    gradio_changes.use_lean_pages()
    monkeypatch.setattr(BlocksConfig, "config_for_block", lambda *_: pytest.fail("computes what nobody reads"))
    pages = state_holder.StateHolder()
    pages.set_blocks(page)
    state, box = (next(b for b in page.blocks.values() if isinstance(b, kind)) for kind in (gr.State, gr.Textbox))
    pages["first"][state._id] = "mine"
    tracemalloc.start()
    for number in range(PAGES):
        pages[f"page {number}"][box._id] = gr.Textbox(render=False)
        pages[f"page {number}"]._update_value_in_config(box._id, "typed")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / PAGES < MOST_BYTES
    assert pages["first"][state._id] == "mine" and pages["page 1"][state._id] == state.value


def test_what_carries_data_never_waits_for_the_last(page):
    """Gradio's page would send what came with the event before: two filters of three that were ticked quickly were lost."""
    functions = [function for function in page.fns.values() if function.fn]
    carrying = [function for function in functions if "event" in inspect.signature(function.fn).parameters]
    assert len(carrying) > 10
    assert [function.name for function in carrying if function.trigger_mode == "always_last"] == []
