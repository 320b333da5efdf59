"""Who sends a request, and whether they are still there; a long job shows a few steps a second, and its first and last."""

import threading
import time
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
from gradio_client import Client
from markupsafe import Markup

from sbert_app.runtime.session import Session
from sbert_app.runtime.visitors import Visitor
from sbert_app.step import Step, throttled
from sbert_app.ui.kit.events import STOPPING, LongJob, caller_left, dimming, visitor_of

LONGEST = 30.0  # seconds that the handler works for, if nobody leaves


def test_a_visitor_is_a_connection_and_what_the_door_has_noted():
    noted = SimpleNamespace(scope={"visitor": Visitor("", "1.2.3.4", "ann")})
    assert visitor_of(gr.Request(noted, session_hash="tab")) == Visitor("tab", "1.2.3.4", "ann")
    assert visitor_of(gr.Request(session_hash="tab")) == Visitor("tab")
    assert visitor_of(None) == Visitor()


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


def test_the_first_step_and_those_that_must_be_shown():
    assert list(throttled(range(1_000), lambda step: step == 999, seconds=60)) == [0, 999]
    assert list(throttled(range(3), seconds=-1)) == [0, 1, 2]


def test_a_step_that_is_to_be_seen_at_once_does_not_wait_for_its_turn():
    with gr.Blocks():
        job = LongJob(gr.Button(), gr.HTML())
    reached = []

    def told():
        for stage in ("read", "opened", "encoded", "done"):
            reached.append(stage)
            yield Step(stage, stopped=stage == "done")

    shown = job.following(told(), lambda step: Markup(), None, 60, lambda: reached[-1] == "opened")
    assert [step.stage for step, _ in shown] == ["read", "opened", "done"]


def test_buttons_follow_the_job():
    with gr.Blocks() as page:
        session, start, stop, stage = gr.State(""), gr.Button("Start"), gr.Button("Stop here", visible=False), gr.HTML()
        job = LongJob(stop, stage, start)
        visitor, stopped = Session(), []
        job.listen(start.click, lambda session: job.idle(), [session], [], stopped.append)
    busy, idle = job.busy("half"), job.idle()
    assert (busy[start].interactive, busy[stop].visible, busy[stage]) == (False, True, "half")
    assert (idle[start].interactive, idle[stop].visible, idle[stop].value, idle[stage]) == (True, False, "Stop here", "")
    stopping = next(function for function in page.fns.values() if function.outputs == [stop])
    assert stopping.fn(visitor).value == STOPPING and stopped == [visitor]


def test_each_update_says_how_the_buttons_are_since_a_busy_page_loses_the_first_of_two():
    with gr.Blocks() as page:
        state, start, button, stage = gr.State(""), gr.Button(), gr.Button("Stop", visible=False), gr.HTML()
        job = LongJob(button, stage, start)

        def work(session):
            yield from (job.busy("one"), {stage: "two"}, job.idle())

        job.listen(start.click, work, [state], [], lambda session: None)
    starting = next(function for function in page.fns.values() if function.fn.__name__ == "work")
    stopping = next(function for function in page.fns.values() if function.outputs == [button])
    visitor = Session()
    shown = [(step[start].interactive, step[button].visible, step[stage]) for step in starting.fn(visitor)]
    assert shown == [(False, True, "one"), (False, True, "two"), (True, False, "")]
    steps = starting.fn(visitor)
    next(steps)
    stopping.fn(visitor)
    assert [step[button].value for step in steps if button in step] == ["Stop"]  # until the end it says "Stopping …"


def test_a_stop_that_comes_before_the_work_has_begun_is_not_lost(shared_bench):
    """The button is shown by the first step; a quick click, or a busy machine, is faster than the second."""
    session = shared_bench.sessions.open()
    ended = []

    def work(session):
        yield job.busy("Starting")
        stop = session.begin("job")
        while not stop.is_set():
            yield {stage: "working"}
        ended.append(session)

    with gr.Blocks() as page:
        state, start, button, stage = gr.State(""), gr.Button(), gr.Button(visible=False), gr.HTML()
        job = LongJob(button, stage, start)
        job.listen(start.click, lambda session: job.idle(), [state], [], lambda session: session.stop("job"))
        job.listen(start.click, work, [state], [], None)
    stopping = next(function for function in page.fns.values() if function.outputs == [button])
    starting = next(function for function in page.fns.values() if function.fn.__name__ == "work")
    for _ in range(2):
        steps = starting.fn(session)
        next(steps)
        stopping.fn(session)
        assert len(list(zip(range(5), steps, strict=False))) < 5 and ended.pop() == session
    assert len(list(zip(range(5), starting.fn(session), strict=False))) == 5  # nobody stops this one


def test_work_whose_session_ended_meanwhile_fails_with_a_sentence_so_the_buttons_are_free():
    def work(session):
        yield job.busy("Starting")

    with gr.Blocks() as page:
        state, start, button, stage = gr.State(""), gr.Button(), gr.Button(visible=False), gr.HTML()
        job = LongJob(button, stage, start)
        job.listen(start.click, work, [state], [], lambda session: None)
    session = Session()
    steps = next(function for function in page.fns.values() if function.fn.__name__ == "work").fn(session)
    next(steps)
    session.close()
    with pytest.raises(gr.Error, match="This session has ended"):
        next(steps)


def test_an_element_that_waits_is_usable_again_after_an_error_too():
    """Gradio's page runs what comes `then` only after a success."""
    with gr.Blocks() as page:
        button = gr.Button()
        dimming("made", button.click, lambda: None)
    after = [event["trigger_only_on_failure"] for event in page.config["dependencies"] if event["trigger_after"] is not None]
    assert sorted(after) == [False, True]
