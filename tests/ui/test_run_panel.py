"""The panel of a training run: what its buttons offer in each state, and what the lists of changes are sorted by."""

import re
from dataclasses import replace

import gradio as gr
import numpy as np
import pytest

from sbert_app.errors import UserError
from sbert_app.evaluation.verdict import BETTER, UNCLEAR, WORSE
from sbert_app.jobs.fine_tune import running
from sbert_app.jobs.fine_tune.job import _lines
from sbert_app.labelled.example_set import Examples
from sbert_app.runs.records import FINISHED, RUNNING, STOPPED, Baseline, DevScore, Kept, Loss, RunInfo
from sbert_app.ui.fine_tune import runs_panel, verdict_view, view
from sbert_app.ui.fine_tune.run_panel import RunPanel
from sbert_app.ui.header import ModelPicker
from tests.attacks.small_home import BASE, planned, tiny_model, training_data
from tests.ui.test_views import recorded

STOPPING, WITHOUT, KEEPING = "Stopping …", "Stop without a model", "Stop and keep the best checkpoint"


@pytest.fixture
def panel(bench):
    tiny_model(bench.settings.models / BASE)
    with gr.Blocks():
        return RunPanel(bench, gr.State(""), gr.State(""), ModelPicker(bench))


def start(panel, epochs=1):
    """A run that is created, not trained yet."""
    data = training_data(panel._bench)
    return running.create(panel._bench, data, planned(data, BASE, epochs=epochs, learning_curve=False))


def shown(panel, run):
    updates = panel.attach(run.id, "")
    return updates[panel.stop], updates


def finished(panel):
    run = start(panel)
    with run.lock():
        list(running.train_here(panel._bench, run))
    return run


def test_the_stop_button_is_the_runs_own_and_names_what_stop_keeps_after_a_reload_too(panel):
    first, second = start(panel, 100), start(panel)
    worker = panel._bench.worker
    with panel._bench.device.hold():  # the runs cannot go on
        worker.start(first)
        worker.start(second)
        button, before = shown(panel, first)
        assert button.interactive and panel._on_stop(first.id, "").value == STOPPING
        button, updates = shown(panel, first)
        assert (button.value, button.interactive) == (STOPPING, False)
        assert updates[panel._shown] != before[panel._shown]  # a page whose last tick crossed the click shows it with the next
        button, _ = shown(panel, second)
        assert (button.value, button.interactive, button.visible) == (WITHOUT, True, True)
    worker.stop(second.id)
    third = start(panel)
    with third.lock():
        for event in running.train_here(panel._bench, third):
            button, _ = shown(panel, third)
            assert button.value == WITHOUT or isinstance(event, DevScore)
            if isinstance(event, DevScore):
                break
        assert shown(panel, third)[0].value == KEEPING


def test_a_run_of_another_process_is_stopped_there_and_says_so_when_it_is_gone(panel):
    """A command in a shell trains it, then moves its model away."""
    run = start(panel)
    with run.lock():
        run.set_state(RUNNING)
        assert shown(panel, run)[0].visible
        with pytest.raises(UserError, match="stop it there, with Ctrl\\+C"):
            panel._on_stop(run.id, "")
    running.delete(panel._bench, run.id)
    gone = panel._on_tick(run.id, "", "", "")
    assert "moved its model" in gone[panel.progress] and not gone[panel._timer].active and not gone[panel.stop].visible


def test_the_page_recommends_a_model_only_if_its_verdict_does(panel):
    run = finished(panel)
    result = run.result()
    for word in (BETTER, UNCLEAR, WORSE):
        run.save_result(replace(result, verdict=replace(result.verdict, word=word, examples=80)))
        _, updates = shown(panel, run)
        use, keep, recommended = updates[panel.use], updates[panel.keep], word == BETTER
        offered = ("primary", "Save and use") if recommended else ("secondary", "Save and use anyway")
        assert (use.variant, use.value) == offered
        assert (keep.value, keep.visible) == (f"Keep {run.plan.base}", not recommended)
        assert not updates[panel.resume].visible  # it is finished
    updates = panel._on_keep(run.id, "")
    assert run.plan.base in updates[panel.model_message] and updates[panel._picker.in_use] == run.plan.base


def test_a_dev_part_that_is_perfect_before_training_or_that_no_checkpoint_beats_is_called_that(panel):
    run = finished(panel)
    progress = running.state(panel._bench, run.id)
    warning = "The dev part scored 100.0 before training"
    assert warning not in verdict_view.verdict(progress)
    perfect = replace(progress, result=replace(progress.result, dev_before=0.9996))
    assert warning in verdict_view.verdict(perfect)
    events = [replace(event, score=1.0) if isinstance(event, Baseline) else event for event in progress.events]
    training = replace(progress, events=events, info=replace(progress.info, state="running"))
    assert warning in view.live(training) and warning not in view.live(replace(training, events=progress.events))
    assert warning in "".join(_lines(perfect.result, "model"))
    distances = replace(progress, result=replace(progress.result, dev_before=-0.9))
    assert "Does the column hold distances?" in verdict_view.verdict(distances)
    assert progress.result.dev_before == progress.of(Baseline)[0].score
    best = max(event.score for event in progress.of(DevScore))
    below, above = (replace(progress, result=replace(progress.result, dev_before=best + step)) for step in (0.01, -0.01))
    text = "On dev no checkpoint was as good as the start"
    assert text in verdict_view.verdict(below) and text not in verdict_view.verdict(above)


def test_an_interrupted_run_is_shown_after_a_restart_with_its_step_and_a_button_that_resumes_it(panel):
    finished(panel)
    run = start(panel)
    with run.lock():
        steps = running.train_here(panel._bench, run)
        next(event for event in steps if isinstance(event, Loss))
        steps.close()
    updates = panel.attach_live("")
    assert updates[panel.run_id] == run.id and updates[panel.resume].visible
    made = view.made_of(running.state(panel._bench, run.id), 60)
    assert "was interrupted at step 1: resume it below. The run below was made of 60 scored pairs of requests_scored.csv" in made
    running.delete(panel._bench, run.id)
    assert panel.attach_live("")[panel.run_id] == gr.skip()  # the last is finished


def test_a_run_that_cannot_be_resumed_says_why(panel):
    info = RunInfo("id", "name", STOPPED, "", "2026-11-25", "", has_model=True)
    for one, reason in ((info, "without a checkpoint"), (replace(info, state=FINISHED), "It is finished")):
        assert reason in running.why_no_resume(one) and reason in runs_panel.chosen_run(one)
        assert not panel.runs._enabled(one)[panel.runs.resume]["interactive"]
    stopped = replace(info, has_checkpoint=True)
    assert running.why_no_resume(stopped) == "" and panel.runs._enabled(stopped)[panel.runs.resume]["interactive"]


def test_after_a_stop_no_training_is_left():
    training = recorded(Loss(10, 5.0, 20.0, 0.5, 100))
    assert "of training left" in view.live(training)
    for stopped in (replace(training, stopping=True), replace(training, events=[*training.events, Kept(5, 0.9)])):
        assert "of training left" not in view.live(stopped)


def movers(kind, before, after, targets, **facts):
    """The page, and of both its lists the first sentences with the values that are shown."""
    sentences = ([f"first {i}" for i in range(len(before))], [f"second {i}" for i in range(len(before))])
    examples = Examples(kind, sentences, np.array(targets, float), np.arange(1, len(before) + 1), **facts)
    page = verdict_view.movers(examples, before, after)
    return page, [re.findall(r"first (\d+)</span>.*?<td>([^<]*) → ([^<]*)</td>", one, re.S) for one in page.split("<h3>")[1:]]


def test_rows_show_what_they_are_sorted_by():
    """All cosines rise, as a second model's may: by rank the first row falls to its place, the third rises from it."""
    page, lists = movers("scored", (0.3, 0.2, 0.1, 0.4), (0.5, 0.6, 0.7, 0.8), (0.1, 0.5, 0.1, 1.0))
    assert lists == [[("0", "67 %", "0 %")], [("2", "0 %", "67 %")]]
    assert "0.10: 17 %" in page and "0.30" not in page


def test_a_pair_labelled_the_same_worsens_when_it_falls():
    """Even if it falls towards the mean rank of its label."""
    labels = {"labels": ("other", "same"), "positive": 1}
    _, lists = movers("labelled", (0.9, 0.8, 0.2, 0.1), (0.7, 0.8, 0.3, 0.1), (1, 1, 0, 0), **labels)
    assert lists == [[("1", "67 %", "100 %")], [("0", "100 %", "67 %")]]
