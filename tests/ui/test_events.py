"""Who sends a request; a long job shows a few steps a second, and its first and last. Callers that leave: test_leaving."""

from types import SimpleNamespace

import gradio as gr
import pytest
from markupsafe import Markup

from sbert_app.runtime.session import Session
from sbert_app.runtime.sessions import SessionKey
from sbert_app.runtime.visitors import Visitor
from sbert_app.step import Step
from sbert_app.ui.kit.events import STOPPING, LongJob, dimming, handler, visitor_of
from sbert_app.watching import JOBS
from tests.searching import indexed


def test_a_visitor_is_a_connection_and_what_the_door_has_noted():
    noted = SimpleNamespace(scope={"visitor": Visitor("", "1.2.3.4", "ann")})
    assert visitor_of(gr.Request(noted, session_hash="tab")) == Visitor("tab", "1.2.3.4", "ann")
    assert visitor_of(gr.Request(session_hash="tab")) == Visitor("tab")
    assert visitor_of(None) == Visitor()


def test_the_log_has_the_rows_of_a_handlers_corpus_also_of_one_with_a_set_of_inputs(shared_bench, caplog):
    key = SessionKey(shared_bench.sessions, indexed(shared_bench, ["one", "two", "three"]).id)
    with gr.Blocks():
        state = gr.State()
    caplog.set_level("INFO", JOBS.name)
    handler(lambda session: None)(key)
    handler(lambda values: None)({state: key})
    assert [record.about.get("rows") for record in caplog.records[-2:]] == [3, 3]


def long_job(steps, stop=lambda session: None):
    """A job of a page that has these steps, and the functions behind its start button and behind Stop."""
    with gr.Blocks() as page:
        state, start, button = gr.State(""), gr.Button("Start"), gr.Button("Stop here", visible=False)
        job = LongJob(button, gr.HTML(), start)

        def work(session):
            yield from steps(job, session)

        job.listen(start.click, work, [state], [], stop)
    starting = next(function for function in page.fns.values() if function.fn.__name__ == "work")
    stopping = next(function for function in page.fns.values() if function.outputs == [button])
    return job, starting.fn, stopping.fn


def test_steps_are_shown_now_and_then_but_the_first_the_last_and_those_to_be_seen_at_once():
    job, *_ = long_job(None)
    reached = []

    def told():
        for stage in ("read", "opened", "encoded", "done"):
            reached.append(stage)
            yield Step(stage, stopped=stage == "done")

    def shown(seconds):
        steps = job.following(told(), lambda step: Markup(), None, seconds, lambda: reached[-1] == "opened")
        return [step.stage for step, _ in steps]

    assert shown(60) == ["read", "opened", "done"] and shown(-1) == ["read", "opened", "encoded", "done"]


def test_each_update_says_how_the_buttons_are_since_a_busy_page_loses_the_first_of_two():
    stopped, visitor = [], Session()
    job, start, stop = long_job(lambda job, session: (job.busy("one"), {job.stage: "two"}, job.idle()), stopped.append)
    (button,) = job.starts
    shown = [(step[button].interactive, step[job.stop].visible, step[job.stage]) for step in start(visitor)]
    assert shown == [(False, True, "one"), (False, True, "two"), (True, False, "")]
    steps = start(visitor)
    next(steps)
    assert stop(visitor).value == STOPPING and stopped == [visitor]
    assert [step[job.stop].value for step in steps if job.stop in step] == ["Stop here"]  # until the end it says "Stopping …"


def test_a_stop_that_comes_before_the_work_has_begun_is_not_lost():
    """The button is shown by the first step; a quick click, or a busy machine, is faster than the second."""
    session, ended = Session(), []

    def work(job, session):
        yield job.busy("Starting")
        stop = session.begin("job")
        while not stop.is_set():
            yield {job.stage: "working"}
        ended.append(session)

    _, start, stop = long_job(work, lambda session: session.stop("job"))
    for _ in range(2):
        steps = start(session)
        next(steps)
        stop(session)
        assert len(list(zip(range(5), steps, strict=False))) < 5 and ended.pop() == session
    assert len(list(zip(range(5), start(session), strict=False))) == 5  # nobody stops this one


def test_work_that_was_replaced_changes_nothing_when_it_ends_and_fails_with_a_sentence_where_its_session_has_ended():
    """Gradio repeats the last updates. After a failure the buttons are free."""
    job, start, _ = long_job(lambda job, session: [job.busy("Sorting")])
    *_, last = start(session := Session())
    assert last == {job.stage: gr.skip()}
    steps = start(session)
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
