"""A long job shows its first step, then a few a second, and never loses its last."""

import gradio as gr

from sbert_app.runtime.session import Session
from sbert_app.ui.kit.long_job import STOPPING, LongJob, throttled


def test_the_first_step_and_those_that_must_be_shown():
    assert list(throttled(range(1_000), lambda step: step == 999, seconds=60)) == [0, 999]
    assert list(throttled(range(3), seconds=-1)) == [0, 1, 2]


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
