"""A handler learns within a moment that its caller closed the connection or cancelled the call."""

import threading
import time

import gradio as gr
import httpx
import pytest
from gradio_client import Client

from sbert_app.ui.kit.events import caller_left

LONGEST = 30.0  # seconds that the handler works for, if nobody leaves


@pytest.fixture(scope="module")
def app():
    """A page with one plain handler, and the seconds that it worked, as a list."""
    worked: list[float] = []
    begun = threading.Event()

    def work() -> str:
        left, start = caller_left(), time.monotonic()
        begun.set()
        while not left() and time.monotonic() - start < LONGEST:
            time.sleep(0.05)
        worked.append(time.monotonic() - start)
        return "done"

    with gr.Blocks(analytics_enabled=False) as page:
        gr.Button().click(work, None, gr.Textbox(), api_name="work", concurrency_limit=None)
    _, url, _ = page.queue().launch(prevent_thread_lock=True, quiet=True, ssr_mode=False)
    yield url, begun, worked
    page.close()


def close_connection(url: str, begun: threading.Event) -> None:
    event = httpx.post(f"{url}gradio_api/call/work", json={"data": []}).json()["event_id"]
    with httpx.stream("GET", f"{url}gradio_api/call/work/{event}", timeout=60):
        assert begun.wait(30)
        time.sleep(0.5)


def cancel(url: str, begun: threading.Event) -> None:
    with_client = Client(url, verbose=False)
    job = with_client.submit(api_name="/work")
    assert begun.wait(30)
    time.sleep(0.5)
    job.cancel()


@pytest.mark.parametrize("leave", [close_connection, cancel])
def test_a_handler_learns_that_its_caller_left(app, leave):
    url, begun, worked = app
    begun.clear()
    worked.clear()
    leave(url, begun)
    until = time.monotonic() + LONGEST + 10
    while not worked and time.monotonic() < until:
        time.sleep(0.05)
    assert worked and worked[0] < LONGEST / 2
